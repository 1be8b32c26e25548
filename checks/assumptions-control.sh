#!/usr/bin/env bash
# Inside of what they assume, correct protocols break nothing: larger clusters with as many liars as f allows, longer workloads,
# every strategy, and the settings in which a search without assumptions cries wolf.
#
#   checks/assumptions-control.sh [SCALE]     SCALE (1) divides the number of runs, which is a million in all
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

# clean RUNS PROTOCOL OPTION...: a campaign that is called by its options.
clean() {
    local runs=$1
    shift
    campaign "$*" "$(scaled "$runs" 5)" "$@"
}

# As many liars as f allows: two of seven, three of ten.
for protocol in pbft hotstuff hotstuff-chained fast-hotstuff hotstuff-two-phase-fixed tendermint zyzzyva hbft; do
    clean 12000 "$protocol" -n 7
    clean 12000 "$protocol" -n 7 --strategy byzzfuzz --set c=2 --set d=2
    clean 6000 "$protocol" -n 7 --strategy two-faced --set liars=2
    clean 6000 "$protocol" -n 7 --strategy random --set liars=2 --set mutate=50
    clean 4000 "$protocol" -n 10
    clean 2000 "$protocol" -n 10 --strategy byzzfuzz --set c=3 --set d=2
done
for protocol in fab pfab; do
    clean 8000 "$protocol" -f 2
    clean 4000 "$protocol" -f 2 --strategy byzzfuzz --set c=2 --set d=2
    clean 2000 "$protocol" -f 3
done
for protocol in sync-hotstuff hbft-5f1; do
    clean 12000 "$protocol" -f 2
    clean 12000 "$protocol" -f 2 --strategy byzzfuzz --set c=2 --set d=2
    clean 4000 "$protocol" -f 3
done
clean 6000 xrpl -n 11
clean 6000 xrpl -n 11 --strategy byzzfuzz --set c=2 --set d=2
for protocol in pbft hotstuff tendermint; do
    clean 2000 "$protocol" -n 7 --strategy twins --set twins=2
done

# Longer workloads.
for protocol in pbft hotstuff hotstuff-chained fast-hotstuff tendermint; do
    clean 12000 "$protocol" -n 7 --requests 20
done
clean 15000 hotstuff-two-phase-fixed --requests 20
clean 15000 pbft --strategy random --set scope=any --requests 20
clean 8000 pbft -n 10 --strategy random
clean 15000 pbft -n 5
clean 15000 pbft -n 6 --strategy twins
clean 40000 zyzzyva --requests 10
clean 25000 fab --requests 10
clean 25000 pfab --requests 10
clean 40000 tendermint --strategy byzzfuzz --set c=3 --set d=3 --set scope=any
clean 40000 hotstuff-chained --strategy random
clean 60000 fast-hotstuff --strategy two-faced

# Protocols that send nothing again: what would be lost is late.
clean 40000 hbft --requests 10
clean 20000 hbft -n 5 -f 1 --clients 2 --requests 8
clean 20000 hbft-5f1
clean 20000 hbft --set protocol.almost-mac=true
clean 20000 hbft --set protocol.checkpoint=1
clean 20000 hbft --strategy random --clients 2 --requests 8
clean 20000 hbft --strategy naive
clean 10000 hbft --strategy byzzfuzz --set c=2 --set d=2 --scheduler async --requests 20
clean 4000 hbft --strategy two-faced --clients 4 --requests 60
clean 40000 sync-hotstuff
clean 20000 sync-hotstuff --strategy byzzfuzz --set c=2 --set d=2
clean 20000 sync-hotstuff --strategy random

# Replicas that stop and start again.
for protocol in pbft hbft zyzzyva fab pfab tendermint hotstuff xrpl; do
    clean 8000 "$protocol" --strategy restarts
done

clean 15000 zyzzyva --strategy byzzfuzz --scheduler async --requests 20
clean 15000 zyzzyva --strategy random --set mutate=50
clean 8000 tendermint -n 7 --strategy two-faced --scheduler async
clean 8000 tendermint --strategy random --set scope=small --set mutate=50
clean 20000 xrpl
clean 12000 xrpl -n 7
clean 6000 xrpl --strategy twins
clean 12000 xrpl-2.4.0 -n 7 --strategy byzzfuzz --set c=2 --set d=2

# Clients that do not wait: what comes of it is outside of what PBFT assumes, and not counted.
clean 3000 pbft --beyond requests --strategy byzzfuzz --set c=0 --set d=2

conclude "inside of the assumptions"
