#!/usr/bin/env bash
# The same seed gives the same campaign: in another process, on another number of threads, in another build.
#
#   checks/determinism.sh [RUNS]       runs per campaign (300)
#
# Compares the fingerprint of the summary, which covers every event of every run, for each scheduler and strategy.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-300}

cargo build --quiet --release -p turncoat-cli
cargo build --quiet -p turncoat-cli
target=$(realpath "${CARGO_TARGET_DIR:-target}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# fingerprint BUILD THREADS: of a campaign in a process of its own.
fingerprint() {
    local code=0
    (cd "$folder" && "$target/$1/turncoat" fuzz pbft --strategy "$strategy" --scheduler "$scheduler" \
        --clients 2 --requests 10 --runs "$runs" --until never --json --jobs "$2") \
        >"$folder/out" 2>"$folder/log" || code=$?
    # 1 is a violation: a finding, but as deterministic as any other run.
    if [ "$code" -gt 1 ]; then
        echo "exit code $code: $(cat "$folder/log")"
    else
        tail -n 1 "$folder/out" | sed -n 's/.*"fingerprint":"\([0-9a-fx]*\)".*/\1/p'
    fi
}

for strategy in none random byzzfuzz; do
    for scheduler in fifo timed sync async; do
        first=$(fingerprint release 1)
        again=$(fingerprint release 1)
        threads=$(fingerprint release 2)
        build=$(fingerprint debug 2)
        verdict=same
        case $first in 0x*) ;; *) verdict=FAILED ;; esac
        [ "$first" = "$again" ] && [ "$first" = "$threads" ] && [ "$first" = "$build" ] || verdict=FAILED
        printf '%-9s %-6s %s %s\n' "$strategy" "$scheduler" "$first" "$verdict"
        if [ "$verdict" = FAILED ]; then
            printf '    another process %s\n    two threads     %s\n    debug build     %s\n' \
                "$again" "$threads" "$build"
            failed=1
        fi
    done
done
echo "determinism: $([ "$failed" = 0 ] && echo 'every campaign repeats itself' || echo FAILED)"
exit "$failed"
