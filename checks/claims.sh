#!/usr/bin/env bash
# Every claim of every explanation, of the suite and of 500 random finds, is looked up in the recording of its run.
#
#   checks/claims.sh [DIVISOR]       # DIVISOR 5, the default of `cargo test`: 100 finds
set -euo pipefail
cd "$(dirname "$0")/.."

TURNCOAT_FINDS=$((500 / ${1:-1})) cargo test --quiet --workspace --test it claims -- --nocapture
