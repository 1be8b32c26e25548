#!/usr/bin/env bash
# The control of the HotStuff family: nothing may be found in the protocols that are correct. A violation is our bug.
#
#   checks/hotstuff-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 8.7 million in all
#
# For each protocol
# 1. a million runs without faults, over all schedulers;
# 2. runs with impatient timers: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 6 rounds with lies, 0 to 2 with partitions, lies of small and of any scope, 200 thousand runs;
# 4. Twins: one replica runs twice, each view has a leader and a partition of its own, 200 thousand runs. Replicas leave
#    views on their own, or with the TIMEOUTs of others, which then pass all partitions.
# After the faults the network heals, and everything has to be decided.
#
# Sync HotStuff counts on messages in time. So in its runs, with two liars or twins of five, all of them are: it runs by
# the clock, without partitions, and every message takes delta = 20 ticks at the most.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

for protocol in hotstuff hotstuff-two-phase-fixed hotstuff-chained hotstuff-two-phase-chained-fixed fast-hotstuff; do
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
        for c in 0 2 6; do
            for d in 0 1 2; do
                campaign "$protocol, byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled 11200 1)" "$protocol" \
                    --strategy byzzfuzz --set "c=$c" --set "d=$d" --set r=24 --set "scope=$scope" --requests 5
            done
        done
    done
    for rounds in 7 10; do
        for isolate in 0 2; do
            campaign "$protocol, twins, $rounds views, isolate=$isolate" "$(scaled 40000 1)" "$protocol" \
                --strategy twins --set "rounds=$rounds" --set "isolate=$isolate" --requests 1 \
                --set protocol.pacemaker=local --set protocol.doublings=0
        done
        campaign "$protocol, twins, $rounds views, timeouts pass" "$(scaled 20000 1)" "$protocol" \
            --strategy twins --set "rounds=$rounds" --set pass=timeout,timeout-cert --requests 1
    done
done

in_time=(-n 5 -f 2 --set network.latency=[1,20] --set protocol.delta=20)
campaign "sync-hotstuff, fault-free" "$(scaled 1000000 1)" sync-hotstuff --strategy none --requests 10 "${in_time[@]}"
for scope in small any; do
    for c in 2 6; do
        campaign "sync-hotstuff, byzzfuzz, c=$c, scope=$scope" "$(scaled 50000 1)" sync-hotstuff \
            --strategy byzzfuzz --set "c=$c" --set d=0 --set r=15 --set "scope=$scope" --requests 5 "${in_time[@]}"
    done
done
for twins in 1 2; do
    for rounds in 4 10; do
        campaign "sync-hotstuff, twins, $twins of 5, $rounds views" "$(scaled 50000 1)" sync-hotstuff \
            --strategy twins --set "twins=$twins" --set "rounds=$rounds" --set partitions=1 --set delays=model \
            --set delta=20 --requests 1 "${in_time[@]}"
    done
done

conclude hotstuff-control
