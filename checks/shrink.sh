#!/usr/bin/env bash
# How small counterexamples get: shrinks what fuzzing finds, and prints the distribution.
#
#   checks/shrink.sh [SCALE]           runs per protocol, strategy and scheduler (300)
#
# The protocols are pbft-java, pbft with each of its flags alone, and the example bracha. Fails if a shrunk scenario
# shows another rule, does not replay, or can be shrunk again; or if the medians are above two faults, two requests and
# 15 lines. Seconds are those of this machine, on one thread. docs/results/shrink.md has the table.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --quiet --release -p turncoat --example shrink -- "${1:-300}"
