#!/usr/bin/env bash
# How small counterexamples get: shrinks what fuzzing finds, and prints the distribution.
#
#   checks/shrink.sh [SCALE]           SCALE (1) divides the numbers of runs
#
# The protocols are pbft-java, pbft with each of its flags alone, and the example bracha. Fails if a shrunk scenario
# shows another rule, does not replay, or can be shrunk again; if the medians are above two faults, two requests, 15 lines
# or 2 s; if one took 10 s; and at full size if there are fewer than 300 violations. Seconds are those that the thread ran.
# docs/results/shrink.md has the table. At full size it also shrinks what campaigns find in all protocols of the suite, and asks whether
# the results stay in the world of what was found (`crates/turncoat/tests/it/shrink_model.rs`, of which `cargo test` runs a tenth).
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-1}
if [ "$scale" = 1 ]; then
    profile=release
    TURNCOAT_TENTHS=10 cargo test --quiet --workspace --test it shrink_model
    cargo build --quiet --release -p turncoat --example shrink
else
    # As `cargo test` has built it.
    profile=debug
    cargo build --quiet --workspace --example shrink
fi
"${CARGO_TARGET_DIR:-target}/$profile/examples/shrink" "$scale"
