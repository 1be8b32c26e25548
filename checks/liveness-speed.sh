#!/usr/bin/env bash
# How fast this machine runs Twins on HotStuff, and judges the runs. By hand only: on a shared machine seconds mean little.
#
#   checks/liveness-speed.sh
#
# For 10,000 scenarios of 10 rounds, four replicas and one twin, on one thread, it prints
#   rounds   seconds for the rounds alone
#   judged   seconds for the rounds, the healing after them, and temperature
#   lasso    seconds for the search of cycles in all of them
# and fails if they are above 1, 2 and 5. Replicas leave views on their own, after the same time for each: with TIMEOUTs that
# pass partitions, two thirds of all messages are TIMEOUTs, and it takes 1.6 times as long.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

. checks/programs.bash
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# number KEY: its value in the line of JSON on stdin.
number() {
    sed -n "s/.*\"$1\":\([0-9.e-]*\).*/\1/p"
}

cat >"$folder/speed.toml" <<'END'
title = "HotStuff, 10 rounds, replicas leave views on their own"
runs = 10000
published-runs = 10000
temperatures = [5]
[scenario]
cluster = { n = 4, f = 1, clients = 0 }
workload = { goal = { again = 1 } }
[[variants]]
name = "hotstuff"
scenario = { protocol = { name = "hotstuff", pacemaker = "local", doublings = 0 } }
[[rows]]
name = "10 rounds"
strategy = "twins"
set = { rounds = 10 }
checks = [{ by = "temperature", threshold = 5 }]
END

rounds=$("$turncoat" fuzz hotstuff --strategy twins --set after=drop --set protocol.pacemaker=local \
    --set protocol.doublings=0 --runs 10000 -j 1 --json | number seconds)
row=$("$turncoat" experiment "$folder/speed.toml" -j 1 --json)
judged=$(number seconds <<<"$row")
lasso=$(number lasso_seconds <<<"$row")

awk -v rounds="$rounds" -v judged="$judged" -v lasso="$lasso" 'BEGIN {
    printf "rounds %.2f s\njudged %.2f s\nlasso  %.4f s\n", rounds, judged, lasso
    if (rounds > 1 || judged > 2 || lasso > 5) { print "liveness-speed: FAILED, too slow"; exit 1 }
}'
