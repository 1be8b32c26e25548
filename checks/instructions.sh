#!/usr/bin/env bash
# What the kernel costs: instructions per delivery, counted by callgrind on a protocol whose handlers are empty.
#
#   checks/instructions.sh [MOST]      fails above MOST (300)
#
# Instructions, not seconds: they are the same on a busy machine. The count is that of x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."
most=${1:-300}

if ! command -v valgrind >/dev/null; then
    echo "instructions: valgrind not found, skipped"
    exit 0
fi
# The profile with LTO, for which the limit was set; `release` takes a few more.
cargo build --quiet --profile dist -p turncoat-core --example flood
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! valgrind --tool=callgrind --callgrind-out-file="$folder/callgrind" \
    "${CARGO_TARGET_DIR:-target}/dist/examples/flood" 1000000 >"$folder/out" 2>"$folder/log"; then
    cat "$folder/log"
    exit 1
fi
instructions=$(sed -n 's/^summary: *//p' "$folder/callgrind")
deliveries=$(sed -n 's/ deliveries$//p' "$folder/out")
# Rounded up.
each=$(((instructions + deliveries - 1) / deliveries))
echo "instructions: $each per delivery ($instructions for $deliveries), at most $most"
[ "$each" -le "$most" ]
