#!/usr/bin/env bash
# The control of Tendermint: it is correct, so nothing may be found in it, termination included. A violation is our bug.
#
#   checks/tendermint-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 3.3 million in all
#
# Of the protocol with all its gossip, where the network may lose messages, and of the one that only passes messages on, where
# the network loses none:
# 1. a million runs without faults, over all schedulers;
# 2. runs with impatient timers, without faults and with one liar: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, 100 thousand runs of each scope;
# 4. Twins: one validator runs twice, 100 thousand runs;
# 5. liars: with two faces, and with lies in a fifth of their messages under impatient timers, with and without losses.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

# variant NAME LOSSES DROPS MARKS: what is asked of every variant, in networks that lose messages or hold them.
variant() {
    local name=$1 losses=$2 drops=$3 marks=$4 scope loss drop cells
    for scheduler in fifo timed sync async; do
        campaign "$name, fault-free, $scheduler" "$(scaled 250000 1)" "$name" \
            --strategy none --scheduler "$scheduler" --requests 10
    done
    # Shares need a sample: at least 1000 runs.
    campaign "$name, fault-free, async, impatient" "$(scaled 50000 1000)" "$name" \
        --strategy none --scheduler async --set scheduler.timeout=200 --requests 10
    # shellcheck disable=SC2086
    exercised $marks
    campaign "$name, one liar, impatient" "$(scaled 50000 1000)" "$name" \
        --strategy random --set drop=0 --set timeout=200 --set mutate=60 --set scope=small --requests 6
    exercised next-epoch skip re-proposal unlock late-decision evidence
    # shellcheck disable=SC2086
    cells=$(wc -w <<<"$losses")
    for loss in $losses; do
        byzzfuzz "$name, $loss" $((11200 / cells)) "$name" --requests 6 --set "network.loss=$loss"
        for scope in small any; do
            campaign "$name, two-faced, $scope, $loss" "$(scaled $((100000 / cells)) 1)" "$name" \
                --strategy two-faced --set "scope=$scope" --set "network.loss=$loss"
        done
        for rounds in 4 7; do
            campaign "$name, twins, $rounds epochs, $loss" "$(scaled $((50000 / cells)) 1)" "$name" \
                --strategy twins --set "rounds=$rounds" --set "network.loss=$loss" --requests 4
        done
    done
    for scope in small any; do
        for drop in $drops; do
            campaign "$name, one liar, drop=$drop, $scope" "$(scaled 25000 1)" "$name" \
                --strategy random --set "drop=$drop" --set timeout=20 --set mutate=25 --set "scope=$scope" \
                --requests 6
        done
    done
}
variant tendermint "drop hold" "0 5" "next-epoch skip re-proposal late-decision recap sync"
variant tendermint-0.34 hold 0 "next-epoch skip re-proposal unlock late-decision"

conclude tendermint-control
