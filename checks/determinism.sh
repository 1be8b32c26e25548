#!/usr/bin/env bash
# The same seed gives the same campaign: in another process, on another number of threads, in another build.
#
#   checks/determinism.sh [RUNS]       runs per campaign (300)
#
# Compares the fingerprint of the summary, which covers every event of every run, for each protocol, strategy and
# scheduler that the command knows. Runs end after 2000 events: some would go on for long, and show no more. With less than 100
# runs it is short: schedulers take turns, and so do strategies on variants of a protocol; the process with two threads is the
# other one, and there is no other build.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-300}

. checks/programs.bash
[ "$runs" -lt 100 ] || cargo build --quiet --workspace --bin turncoat
debug=$(realpath "${CARGO_TARGET_DIR:-target}")/debug/turncoat
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
cells=0

# names WHAT: the first words of a list; what belongs to an item stands below it, indented.
names() {
    "$turncoat" list "$1" | sed -n 's/^\([^ ][^ ]*\) .*/\1/p'
}

# fingerprint PROGRAM THREADS: of a campaign in a process of its own.
fingerprint() {
    local code=0 own=()
    # It has schedules of its own.
    [ "$strategy" != enumerate ] || own=(--set schedules=given)
    (cd "$folder" && "$1" fuzz "$protocol" --strategy "$strategy" --scheduler "$scheduler" "${own[@]}" \
        --runs "$runs" --set limits.steps=2000 --until never --no-shrink --json --jobs "$2") \
        >"$folder/out" 2>"$folder/log" || code=$?
    # 1 is a violation: a finding, but as deterministic as any other run.
    if [ "$code" -gt 1 ]; then
        echo "exit code $code: $(cat "$folder/log")"
    else
        tail -n 1 "$folder/out" | sed -n 's/.*"fingerprint":"\([0-9a-fx]*\)".*/\1/p'
    fi
}

# compare: one cell, one row.
compare() {
    local first again threads build verdict=same
    first=$(fingerprint "$turncoat" 1)
    threads=$(fingerprint "$turncoat" 2)
    again=$first build=$first
    if [ "$runs" -ge 100 ]; then
        again=$(fingerprint "$turncoat" 1)
        build=$(fingerprint "$debug" 2)
    fi
    case $first in 0x*) ;; *) verdict=FAILED ;; esac
    [ "$first" = "$again" ] && [ "$first" = "$threads" ] && [ "$first" = "$build" ] || verdict=FAILED
    printf '%-13s %-9s %-6s %s %s\n' "$protocol" "$strategy" "$scheduler" "$first" "$verdict"
    if [ "$verdict" = FAILED ]; then
        printf '    another process %s\n    two threads     %s\n    debug build     %s\n' "$again" "$threads" "$build"
        failed=1
    fi
}

mapfile -t schedulers < <(names schedulers)
turn=0
family=
for protocol in $(names protocols); do
    variant=$([ "${protocol#"$family"-}" = "$protocol" ] && echo no || echo yes)
    [ "$variant" = yes ] || family=$protocol
    for strategy in $(names strategies); do
        turn=$((turn + 1))
        # Where synchrony is assumed, clocks are on time.
        case $protocol-$strategy in sync-*-drift) continue ;; esac
        [ "$runs" -ge 100 ] || [ "$variant" = no ] || [ $((turn % 4)) = 0 ] || continue
        for i in "${!schedulers[@]}"; do
            [ "$runs" -ge 100 ] || [ $((turn % ${#schedulers[@]})) = "$i" ] || continue
            scheduler=${schedulers[i]}
            compare
            cells=$((cells + 1))
        done
    done
done
[ "$cells" -gt 0 ] || failed=1
echo "determinism: $cells campaigns, $([ "$failed" = 0 ] && echo 'each repeats itself' || echo FAILED)"
exit "$failed"
