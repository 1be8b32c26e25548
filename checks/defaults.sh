#!/usr/bin/env bash
# What a newcomer sees first: `turncoat fuzz P` with all defaults, for each protocol.
#
#   checks/defaults.sh [SCALE]     SCALE (1) divides the number of runs, which is 10,000 for each of 20 seeds, and of seeds
#
# A protocol without known bugs must end with exit code 0 whatever the seed; one with known bugs must name them. Prints the table
# of docs/results/defaults.md. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash

runs=$(scaled 10000 50)
seeds=$(scaled 20 2)
echo "| protocol | channels | known bugs | campaigns with a violation | violations | bugs that showed |"
echo "|---|---|---|---|---|---|"
"$turncoat" list protocols --json >"$folder/protocols"
# Engines have known bugs, and pages of their own.
for protocol in $(grep -o '"name":"[^"]*"' "$folder/protocols" | cut -d '"' -f 4 | grep -v '^malachite\|^hbbft'); do
    cell=$protocol
    case $("$turncoat" list assumptions "$protocol") in
    *'may be lost'*) channels=fair-lossy ;;
    *'never lost'*) channels=reliable ;;
    *) channels=synchronous ;;
    esac
    found=0
    : >"$folder/violations"
    : >"$folder/shown"
    for seed in $(seq 1 "$seeds"); do
        code=0
        (cd "$folder" && "$turncoat" fuzz "$protocol" --seed "$seed" --runs "$runs" --no-shrink --json) \
            >"$folder/out" 2>"$folder/log" || code=$?
        summary=$(tail -n 1 "$folder/out")
        known=$(sed -n 's/.*"known_bugs":\[\([^]]*\)\].*/\1/p' <<<"$summary" | tr -d '"' | sed 's/,/, /g')
        case $code in
        0) ;;
        1)
            found=$((found + 1))
            grep -o '"violations":{[^}]*}' <<<"$summary" | grep -o '"[a-z-]*":[1-9][0-9]*' | tr -d '"' >>"$folder/violations"
            grep -o '"shown_bugs":{[^}]*}' <<<"$summary" | grep -o '"[a-z0-9-]*/[a-z0-9-]*"' | tr -d '"' >>"$folder/shown" || true
            [ -n "$known" ] || fail "seed $seed: $(grep -o '"violations":{[^}]*}' <<<"$summary")"
            ;;
        *) fail "seed $seed: exit code $code: $(cat "$folder/log")" ;;
        esac
        total=$((total + $(value runs)))
    done
    violations=$(awk -F: '{ sum[$1] += $2 } END { for (p in sum) print p, sum[p] }' "$folder/violations" | sort | paste -sd, | sed 's/,/, /g')
    shown=$(sort -u "$folder/shown" | paste -sd, | sed 's/,/, /g')
    echo "| $protocol | $channels | ${known:-none} | $found of $seeds | ${violations:-none} | ${shown:-none} |"
done
echo
conclude "defaults, $runs runs for each of $seeds seeds at the most"
