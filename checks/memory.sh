#!/usr/bin/env bash
# A campaign takes constant memory: ten times the runs, the same peak.
#
#   checks/memory.sh [SCALE]           SCALE (1) divides the numbers of runs, 100,000 and 1,000,000
#
# It may grow by 5 %, and by 1 MiB more if SCALE is above 1: the longest runs set the peak, and of few runs the
# longest are yet to come. Equal campaigns differ by some pages, so the smaller one runs three times and its largest
# peak counts. The peak is what Linux says (VmHWM), looked at until the process ends.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-1}

if ! grep -q VmHWM /proc/self/status 2>/dev/null; then
    echo "memory: no /proc/PID/status with VmHWM, skipped"
    exit 0
fi
. checks/programs.bash
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# peak RUNS: the most memory that a campaign has occupied, in KiB.
peak() {
    local pid now most=0
    (cd "$folder" && exec "$turncoat" fuzz pbft --strategy byzzfuzz --until never --json --runs "$1") \
        >"$folder/out" 2>"$folder/log" &
    pid=$!
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
        most=$now
        sleep 0.02
    done
    if ! wait "$pid"; then
        cat "$folder/log" >&2
        echo "memory: the campaign of $1 runs failed" >&2
        exit 1
    fi
    echo "$most"
}

few=$((100000 / scale))
many=$((1000000 / scale))
before=0
for _ in 1 2 3; do
    now=$(peak "$few")
    before=$((now > before ? now : before))
done
after=$(peak "$many")
most=$((before * 105 / 100 + (scale > 1 ? 1024 : 0)))
echo "memory: $before KiB after $few runs, $after KiB after $many, at most $most"
if [ "$after" -gt "$most" ]; then
    echo "memory: FAILED, it grows with the number of runs"
    exit 1
fi
