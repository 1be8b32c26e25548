#!/usr/bin/env bash
# The control of Zyzzyva: the corrected protocol violates nothing. A violation is our bug.
#
#   checks/zyzzyva-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 2.2 million in all
#
# 1. A million runs without faults, over all schedulers.
# 2. Without faults and with impatient timers: each rare path of the protocol is taken in more than 1 % of runs.
# 3. ByzzFuzz: 0 to 6 rounds with lies, 0 to 2 with partitions, lies of small and of any scope, 200 thousand runs each.
# 4. Twins: one replica runs twice, 200 thousand runs.
# 5. A liar with two faces, lies of small and of any scope, 100 thousand runs each.
# 6. Everything at random: losses and lies of one replica, with timers that fire at any time; and bits that flip.
#
# Checkpoints are every two slots, so that there are several in a run. What a partition cuts off is held until the network
# heals; 6 loses messages for good.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

base=(--clients 2 --set protocol.checkpoint=2 --set network.loss=hold)
for scheduler in fifo timed sync async; do
    campaign "fault-free, $scheduler" "$(scaled 250000 1)" zyzzyva \
        --strategy none --scheduler "$scheduler" --requests 10 "${base[@]}"
done

# Shares need a sample: at least 5000 runs.
campaign "fault-free, async, impatient" "$(scaled 50000 5000)" zyzzyva \
    --strategy none --scheduler async --set scheduler.timeout=30 --requests 10 "${base[@]}"
exercised commit fill-hole view-change new-view-null rollback stable-checkpoint state-transfer

for scope in small any; do
    for c in 0 2 6; do
        for d in 0 1 2; do
            campaign "byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled 22200 1)" zyzzyva \
                --strategy byzzfuzz --set "c=$c" --set "d=$d" --set r=12 --set "scope=$scope" --requests 4 "${base[@]}"
        done
    done
done

for rounds in 4 7; do
    campaign "twins, $rounds rounds" "$(scaled 100000 1)" zyzzyva \
        --strategy twins --set "rounds=$rounds" --requests 4 "${base[@]}"
done

for scope in small any; do
    campaign "two-faced, scope=$scope" "$(scaled 100000 1)" zyzzyva \
        --strategy two-faced --set "scope=$scope" --requests 4 "${base[@]}"
    campaign "random, scope=$scope" "$(scaled 100000 1)" zyzzyva \
        --strategy random --set "scope=$scope" --requests 6 "${base[@]}"
    campaign "random, impatient, scope=$scope" "$(scaled 50000 1)" zyzzyva \
        --strategy random --set "scope=$scope" --set timeout=30 --requests 6 "${base[@]}"
done
campaign "naive" "$(scaled 50000 1)" zyzzyva --strategy naive --requests 6 "${base[@]}"

conclude zyzzyva-control
