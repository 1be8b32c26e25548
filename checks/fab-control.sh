#!/usr/bin/env bash
# The control of FaB and of parameterized FaB, repaired: both are correct, so nothing may be found in them. A violation is
# our bug.
#
#   checks/fab-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 4.3 million in all
#
# Of each, and in part of parameterized FaB with t = 1:
# 1. a million runs without faults, over all schedulers;
# 2. runs with impatient timers: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, 200 thousand runs of each scope;
# 4. Twins: one replica runs twice, 200 thousand runs;
# 5. liars: with two faces, and with lies in a fifth of their messages under impatient timers, with and without losses.
# Partitions hold messages back in half of the campaigns, and lose them in the other half.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

two=(--clients 2)

# variant NAME RUNS MARKS OPTION...: what is asked of every variant, with a million runs without faults or so many.
variant() {
    local name=$1 runs=$2 marks=$3 scope
    shift 3
    for scheduler in fifo timed sync async; do
        campaign "$name, fault-free, $scheduler" "$(scaled $((runs / 4)) 1)" "$@" \
            --strategy none --scheduler "$scheduler" --requests 10 "${two[@]}"
    done
    # Shares need a sample: at least 2000 runs.
    campaign "$name, fault-free, async, impatient" "$(scaled $((runs / 20)) 2000)" "$@" \
        --strategy none --scheduler async --set scheduler.timeout=30 --requests 10 "${two[@]}"
    # shellcheck disable=SC2086
    exercised $marks
    byzzfuzz "$name" $((runs / 45)) "$@" --requests 6 "${two[@]}"
    for scope in small any; do
        for drop in 0 5; do
            campaign "$name, one liar, drop=$drop, scope=$scope" "$(scaled $((runs / 20)) 1)" "$@" \
                --strategy random --set "drop=$drop" --set timeout=20 --set mutate=25 --set "scope=$scope" \
                --requests 6 "${two[@]}"
        done
        campaign "$name, two-faced, scope=$scope" "$(scaled $((runs / 10)) 1)" "$@" \
            --strategy two-faced --set "scope=$scope"
    done
    for rounds in 4 7; do
        campaign "$name, twins, $rounds views" "$(scaled $((runs / 10)) 1)" "$@" \
            --strategy twins --set "rounds=$rounds" --set network.loss=hold --requests 4 "${two[@]}"
    done
}
variant fab 1000000 "view-change recovery learned-from-learners" fab
variant pfab 1000000 "view-change recovery commit-proof learned-from-learners" pfab
variant "pfab, t=1" 100000 "view-change recovery commit-proof learned-from-learners" pfab --set protocol.t=1

conclude fab-control
