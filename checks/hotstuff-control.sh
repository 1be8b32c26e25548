#!/usr/bin/env bash
# The control of the HotStuff family: nothing may be found in the protocols that are correct. A violation is our bug.
#
#   checks/hotstuff-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 6.5 million in all
#
# For each protocol
# 1. a million runs without faults, over all schedulers;
# 2. runs with impatient timers: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, 200 thousand runs.
# Sync HotStuff counts on messages in time: it runs by the clock, and without partitions.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

for protocol in hotstuff hotstuff-two-phase-fixed hotstuff-chained fast-hotstuff; do
    for scheduler in fifo timed sync async; do
        campaign "$protocol, fault-free, $scheduler" "$(scaled 250000 1)" "$protocol" \
            --strategy none --scheduler "$scheduler" --requests 10
    done
    # Shares need a sample: at least 5000 runs.
    campaign "$protocol, fault-free, async, impatient" "$(scaled 50000 5000)" "$protocol" \
        --strategy none --scheduler async --set scheduler.timeout=30 --requests 10
    case $protocol in
    fast-hotstuff) exercised timeout fetch agg-qc ;;
    *) exercised timeout fetch ;;
    esac
    # The faults happen in the first three views or so.
    for scope in small any; do
        for c in 0 1 2; do
            for d in 0 1 2; do
                campaign "$protocol, byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled 11200 1)" "$protocol" \
                    --strategy byzzfuzz --set "c=$c" --set "d=$d" --set r=24 --set "scope=$scope" --requests 5
            done
        done
    done
done

campaign "sync-hotstuff, fault-free" "$(scaled 1000000 1)" sync-hotstuff --strategy none --requests 10 \
    --set network.latency=[1,20]
for scope in small any; do
    for c in 1 2; do
        campaign "sync-hotstuff, byzzfuzz, c=$c, scope=$scope" "$(scaled 50000 1)" sync-hotstuff \
            --strategy byzzfuzz --set "c=$c" --set d=0 --set r=15 --set "scope=$scope" --requests 5 \
            --set network.latency=[1,20]
    done
done

conclude hotstuff-control
