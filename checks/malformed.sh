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
# Of the whole workspace, as it is built for the other tests: one crate alone has other features, and would be built again.
exec cargo test --quiet --workspace --lib malformed_input -- --nocapture
