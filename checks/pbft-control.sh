#!/usr/bin/env bash
# The control beside every table: PBFT is correct, so nothing may be found in it. A violation is our bug.
#
#   checks/pbft-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 1.41 million in all
#
# 1. A million runs without faults, over all schedulers.
# 2. Without faults and with impatient timers: each rare path of the protocol is taken in more than 1 % of runs.
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
scale=${1:-1}
rare=(view-change new-view-null stable-checkpoint state-transfer slot-fetch)

cargo build --quiet --release -p turncoat-cli
turncoat=$(realpath "${CARGO_TARGET_DIR:-target}/release/turncoat")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
total=0

# The number (or word) that belongs to a key of the last summary.
value() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$summary"
}

fail() {
    echo "FAILED $cell: $1"
    failed=1
}

# scaled RUNS LEAST: what SCALE makes of RUNS, but not less than LEAST.
scaled() {
    echo $(($1 / scale > $2 ? $1 / scale : $2))
}

# campaign CELL RUNS OPTION...: one campaign, one row.
campaign() {
    cell=$1
    local runs=$2 code=0
    shift 2
    (cd "$folder" && "$turncoat" fuzz pbft "$@" --runs "$runs" --until never --json) \
        >"$folder/out" 2>"$folder/log" || code=$?
    summary=$(tail -n 1 "$folder/out")
    if [ "$code" -gt 1 ] || [ "$(value runs)" != "$runs" ]; then
        cat "$folder/log"
        fail "exit code $code, $(value runs) runs"
        return
    fi
    total=$((total + runs))
    printf '%-34s %9d %10d %12.2f %12d %8.1f\n' \
        "$cell" "$runs" "$(value violating)" "$(share faults "$runs")" "$(value mutations)" "$(value seconds)"
    if [ "$(value violating)" != 0 ]; then
        fail "$(grep -o '"violations":{[^}]*}' <<<"$summary")"
        cat "$folder"/turncoat-corpus/*.toml
        rm -rf "$folder/turncoat-corpus"
    fi
}

# share KEY RUNS: the count per run, with two digits.
share() {
    local hundredths=$(($(value "$1") * 100 / $2))
    printf '%d.%02d' $((hundredths / 100)) $((hundredths % 100))
}

printf '%-34s %9s %10s %12s %12s %8s\n' campaign runs violating 'faults/run' mutations seconds

for scheduler in fifo timed sync async; do
    campaign "fault-free, $scheduler" "$(scaled 250000 1)" \
        --strategy none --scheduler "$scheduler" --clients 2 --requests 10
done

# Shares need a sample: at least 5000 runs.
campaign "fault-free, async, impatient" "$(scaled 50000 5000)" \
    --strategy none --scheduler async --set scheduler.timeout=30 --clients 2 --requests 10
for mark in "${rare[@]}"; do
    count=$(value "$mark")
    printf '    %-30s %9d\n' "$mark" "$count"
    if [ $((count * 100)) -le "$(value runs)" ]; then
        fail "$mark in $count of $(value runs) runs: not above 1 %"
    fi
done

for scope in small any; do
    for c in 0 1 2; do
        for d in 0 1 2; do
            campaign "byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled 20000 1)" \
                --strategy byzzfuzz --set "c=$c" --set "d=$d" --set "scope=$scope"
        done
    done
done

echo "pbft-control: $total runs, $([ "$failed" = 0 ] && echo 'nothing found, as it should be' || echo FAILED)"
exit "$failed"
