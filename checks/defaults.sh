#!/usr/bin/env bash
# What a newcomer sees first: `turncoat fuzz P` with all defaults, for each protocol.
#
#   checks/defaults.sh [SCALE]     SCALE (1) divides the number of runs, which is 10,000 for each of 20 seeds, and of seeds
#   checks/defaults.sh --write     runs all of them and puts the table into docs/results/defaults.md
#
# A protocol without known bugs must end with exit code 0 whatever the seed; one with known bugs must name them. The page records
# a digest of what two short campaigns of each protocol come to. If it has changed, the table is stale, and that is a failure too.
# Exits with 1, after the last row, if any of this does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."
page=$PWD/docs/results/defaults.md
mode=${1:-1}
[ "$mode" != --write ] || set -- 1
. checks/control.bash
. checks/page.bash

runs=$(scaled 10000 100)
seeds=$(scaled 20 2)

# fuzz PROTOCOL SEED RUNS: a campaign. Its summary is $summary, its exit code $code.
fuzz() {
    code=0
    (cd "$folder" && "$turncoat" fuzz "$1" --seed "$2" --runs "$3" --no-shrink --json) >"$folder/out" 2>"$folder/log" || code=$?
    summary=$(tail -n 1 "$folder/out")
    total=$((total + $(value runs)))
}

# object KEY: an object of the last summary, as it is written there.
object() {
    grep -o "\"$1\":{[^}]*}" <<<"$summary"
}

# names LIST: a list of JSON, for people. Who wants to know all of a long one asks the command.
names() {
    local all
    IFS=, read -ra all <<<"${1//\"/}"
    case ${#all[@]} in
    0) echo none ;;
    [1-4]) echo "$1" | tr -d '"' | sed 's/,/, /g' ;;
    *) echo "${#all[@]}, among them ${all[0]}" ;;
    esac
}

{
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
        for seed in 1 2; do
            fuzz "$protocol" "$seed" 100
            echo "$protocol $seed $code $(object violations) $(object marks) $(object limits)" >>"$folder/short"
        done
        for seed in $(seq 1 "$seeds"); do
            fuzz "$protocol" "$seed" "$runs"
            known=$(sed -n 's/.*"known_bugs":\[\([^]]*\)\].*/\1/p' <<<"$summary")
            case $code in
            0) ;;
            1)
                found=$((found + 1))
                object violations | grep -o '"[a-z-]*":[1-9][0-9]*' | tr -d '"' >>"$folder/violations"
                object shown_bugs | grep -o '"[a-z0-9-]*/[a-z0-9-]*"' | tr -d '"' >>"$folder/shown" || true
                [ -n "$known" ] || fail "seed $seed: $(object violations)"
                ;;
            *) fail "seed $seed: exit code $code: $(cat "$folder/log")" ;;
            esac
        done
        violations=$(awk -F: '{ sum[$1] += $2 } END { for (p in sum) print p, sum[p] }' "$folder/violations" | sort | paste -sd, | sed 's/,/, /g')
        shown=$(sort -u "$folder/shown" | paste -sd, | sed 's/,/, /g')
        echo "| \`$protocol\` | $channels | $(names "$known") | $found of $seeds | ${violations:-none} | ${shown:-none} |"
    done
} >"$folder/table"
cat "$folder/table"
echo

digest=$(sha256sum <"$folder/short" | cut -c 1-16)
if [ "$mode" = --write ]; then
    put_table "$page" "$folder/table" "$digest"
else
    fresh_table "$page" "$digest" || failed=1
fi
conclude "defaults, $runs runs for each of $seeds seeds at the most"
