#!/usr/bin/env bash
# Malformed scenarios, scripts, plans, configurations, experiments and files of shards: nothing panics, hangs or takes a gigabyte.
#
#   checks/malformed.sh [SCALE [FROM]]     SCALE (1) divides the 1,000,000 inputs; FROM (0) is the number of the first
#
# They are made and tried out in one process, with debug assertions and checks of overflow, whatever PROFILE says: see
# crates/turncoat-cli/src/malformed. An input that fails is printed with its number, from which it can be made again:
# MALFORMED=1 MALFORMED_FROM=NUMBER.
set -euo pipefail
cd "$(dirname "$0")/.."
export MALFORMED=$((1000000 / ${1:-1})) MALFORMED_FROM=${2:-0}
# Whatever goes wrong, the machine survives it: 8 GiB of addresses.
ulimit -v 8388608
exec cargo test --quiet -p turncoat-cli --lib malformed_input -- --nocapture
