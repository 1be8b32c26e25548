#!/usr/bin/env bash
# The control of the XRP Ledger where all trust all, or trust lists overlap as much as has been proved to be enough: nothing
# may be found. A violation is our bug.
#
#   checks/xrpl-control.sh [SCALE]     SCALE (1) divides the number of runs, which is 0.9 million in all
#
# 1. 100 thousand runs without faults of each version, and some that are relayed;
# 2. runs with partitions and losses: each rare path is taken in more than 1 % of them;
# 3. ByzzFuzz: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, 100 thousand runs of each scope;
# 4. the same where lists of ten overlap in nine. That is above the bound that has been proved for safety, and only safety is
#    asked for: such lists may leave a part stuck (`xrpl/overlap-above-bound`);
# 5. liars that never stop: with two faces, as twins, with lies in a fifth of their messages. Such a liar may keep a ledger
#    from ever being final (Amores-Sesar et al. 2020; `xrpl/balanced-branches`, `xrpl/undecided-liar`), so only safety is
#    asked for.
# Partitions hold messages back in half of the campaigns, and lose them in the other half.
#
# Prints one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
. checks/control.bash
heading

# Payments that exclude each other, handed in at four replicas at one time.
four=(--requests 4 --set 'workload.ops=["c1:80000@p0","!c2:81000@p1","!c2:82000@p3","!c1:83000@p4"]'
    --set 'workload.start=[20300,20300,20300,20300]')
seven=(-n 7 "${four[@]}")
# Lists of ten of eleven replicas: more than n/2 + n - q + t = 5 + 2 + 1 in common.
low='["p0","p1","p2","p3","p4","p5","p6","p7","p8","p9"]'
high='["p1","p2","p3","p4","p5","p6","p7","p8","p9","p10"]'
eleven=(-n 11 -f 1 "${four[@]}"
    --set "cluster.trust=[$low,$low,$low,$low,$low,$high,$high,$high,$high,$high,$high]")

safe=(--set workload.goal=none --set limits.time=60000)

for protocol in xrpl xrpl-2.4.0 xrpl-1.7.2; do
    campaign "$protocol, fault-free" "$(scaled 50000 1)" "$protocol" --strategy none "${seven[@]}"
    campaign "$protocol, fault-free, 6 replicas" "$(scaled 50000 1)" "$protocol" \
        --strategy none --requests 10 --clients 2
    campaign "$protocol, fault-free, relay" "$(scaled 5000 1)" "$protocol" \
        --strategy none "${seven[@]}" --set protocol.relay=true
done
campaign "xrpl, fault-free, overlap 9 of 10" "$(scaled 50000 1)" xrpl --strategy none "${eleven[@]}"

byzzfuzz xrpl 11200 xrpl "${seven[@]}"
byzzfuzz xrpl-2.4.0 5000 xrpl-2.4.0 "${seven[@]}"
byzzfuzz "xrpl, overlap 9 of 10" 2000 xrpl "${eleven[@]}" "${safe[@]}"

# Shares need a sample: at least 2000 runs.
campaign "xrpl, byzzfuzz, d=4" "$(scaled 50000 2000)" xrpl "${seven[@]}" \
    --strategy byzzfuzz --set c=2 --set d=4 --set r=12 --set network.loss=drop
exercised position-changed waited wrong-ledger ledger-acquired moved-on liar-detected

# Where the order is random the clock runs ahead of the messages: such runs need more of it for as many ledgers.
long=(--set limits.time=240000)
for version in 2.6.1 2.4.0; do
    own=(xrpl --set "protocol.version=\"$version\"" "${seven[@]}" "${safe[@]}")
    for scope in small any; do
        campaign "$version, two-faced, scope=$scope" "$(scaled 20000 1)" "${own[@]}" \
            "${long[@]}" --strategy two-faced --set "scope=$scope"
        campaign "$version, one liar, scope=$scope" "$(scaled 20000 1)" "${own[@]}" \
            "${long[@]}" --strategy random --set drop=5 --set mutate=25 --set "scope=$scope"
    done
    campaign "$version, twins" "$(scaled 20000 1)" "${own[@]}" --strategy twins --set rounds=7
done

conclude xrpl-control
