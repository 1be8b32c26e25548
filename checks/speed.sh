#!/usr/bin/env bash
# How fast this machine runs PBFT. By hand only: on a shared machine seconds mean little.
#
#   checks/speed.sh [SECONDS]          seconds for each of the four measurements (2)
#
# Fails below 3 million deliveries a second on one thread, and below 1.8 times that on two.
set -euo pipefail
cd "$(dirname "$0")/.."

. checks/programs.bash
figures=$("$turncoat" speed --seconds "${1:-2}" --json)
echo "$figures"

# at_least KEY LEAST: both in thousandths, so that whole numbers do.
at_least() {
    local found whole digits
    found=$(sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" <<<"$figures")
    whole=${found%%.*}
    digits=000
    case $found in *.*) digits=${found#*.}000 ;; esac
    if [ "$((whole * 1000 + 10#${digits:0:3}))" -lt "$2" ]; then
        echo "speed: FAILED, $1 is $found"
        return 1
    fi
}

failed=0
at_least deliveries_per_s 3000000000 || failed=1
at_least speedup 1800 || failed=1
exit "$failed"
