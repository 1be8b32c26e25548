#!/usr/bin/env bash
# How fast this machine runs Twins on HotStuff, and judges the runs. By hand only: on a shared machine seconds mean little.
#
#   checks/liveness-speed.sh
#
# For 10,000 scenarios of 10 rounds, four replicas and one twin, on one thread, it prints
#   rounds   seconds for the rounds alone
#   judged   seconds for the rounds, the healing after them, and temperature
#   lasso    seconds for the search of cycles in all of them
# and fails if they are above 1, 2 and 5. It takes as long as the whole table does, a minute or two.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."

cargo build --quiet --release -p turncoat-cli
turncoat=${CARGO_TARGET_DIR:-target}/release/turncoat

# number KEY: its value in the line of JSON on stdin.
number() {
    sed -n "s/.*\"$1\":\([0-9.e-]*\).*/\1/p"
}

rounds=$("$turncoat" fuzz hotstuff --strategy twins --set after=drop --set pass=timeout,timeout-cert \
    --runs 10000 -j 1 --json | number seconds)
row=$("$turncoat" experiment liveness-table-3 -j 1 --json | grep '"10 rounds, temperature"')
judged=$(number seconds <<<"$row")
lasso=$(number lasso_seconds <<<"$row")

awk -v rounds="$rounds" -v judged="$judged" -v lasso="$lasso" 'BEGIN {
    printf "rounds %.2f s\njudged %.2f s\nlasso  %.4f s\n", rounds, judged, lasso
    if (rounds > 1 || judged > 2 || lasso > 5) { print "liveness-speed: FAILED, too slow"; exit 1 }
}'
