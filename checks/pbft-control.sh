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
cd "$(dirname "$0")/.."
. checks/control.bash
heading

for scheduler in fifo timed sync async; do
    campaign "fault-free, $scheduler" "$(scaled 250000 1)" pbft \
        --strategy none --scheduler "$scheduler" --clients 2 --requests 10
done

# Shares need a sample: at least 5000 runs.
campaign "fault-free, async, impatient" "$(scaled 50000 5000)" pbft \
    --strategy none --scheduler async --set scheduler.timeout=30 --clients 2 --requests 10
exercised view-change new-view-null stable-checkpoint state-transfer slot-fetch

for scope in small any; do
    for c in 0 1 2; do
        for d in 0 1 2; do
            campaign "byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled 20000 1)" pbft \
                --strategy byzzfuzz --set "c=$c" --set "d=$d" --set "scope=$scope"
        done
    done
done

conclude pbft-control
