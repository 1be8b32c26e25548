#!/usr/bin/env bash
# The control of hBFT: repaired it is correct, so nothing may be found in it. A violation is our bug.
#
#   checks/hbft-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 2.5 million in all
#
# With n = 3f+1 (`hbft`), and in part with n = 5f+1 (`hbft-5f1`), rare checkpoints, and COMMITs that carry PREPAREs:
# 1. a million runs without faults, over all schedulers;
# 2. runs with impatient timers: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, 200 thousand runs of each;
# 4. Twins: one replica runs twice, 200 thousand runs;
# 5. liars: with two faces, and with lies in a fifth of their messages under impatient timers.
# Nobody but a client sends anything again, so partitions hold messages back and lose none.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

two=(--clients 2 --set network.loss=hold)
for scheduler in fifo timed sync async; do
    campaign "hbft, fault-free, $scheduler" "$(scaled 250000 1)" hbft \
        --strategy none --scheduler "$scheduler" --requests 10 "${two[@]}"
done

# variant NAME OPTION...: what is asked of every variant, with so many runs in each campaign.
variant() {
    local name=$1 runs=$2
    shift 2
    # Shares need a sample: at least 2000 runs.
    campaign "$name, fault-free, async, impatient" "$(scaled "$runs" 2000)" "$@" \
        --strategy none --scheduler async --set scheduler.timeout=10 --requests 10 "${two[@]}"
    exercised view-change new-view-null stable-checkpoint panic adopt-commits catch-up
    byzzfuzz "$name" $((runs / 2)) "$@" --requests 6 "${two[@]}"
    for scope in small any; do
        campaign "$name, one liar, impatient, scope=$scope" "$(scaled "$runs" 1)" "$@" \
            --strategy random --set drop=0 --set timeout=20 --set mutate=25 --set "scope=$scope" --requests 6 "${two[@]}"
        campaign "$name, two-faced, scope=$scope" "$(scaled $((runs * 2)) 1)" "$@" \
            --strategy two-faced --set "scope=$scope" "${two[@]}"
    done
    for rounds in 4 7; do
        campaign "$name, twins, $rounds views" "$(scaled $((runs * 2)) 1)" "$@" \
            --strategy twins --set "rounds=$rounds" --requests 4 "${two[@]}"
    done
}
variant hbft 50000 hbft
variant hbft-5f1 5000 hbft-5f1
variant "hbft, K=100" 10000 hbft --set protocol.checkpoint=100
variant "hbft, almost-mac" 10000 hbft --set protocol.almost-mac=true

conclude hbft-control
