#!/usr/bin/env bash
# What `turncoat new` writes is a crate that compiles without a network, passes its tests, finds its bug, and is the
# command with one more protocol in it.
#
#   checks/new.sh [--short]
#
# --short does not compile the crate, but asks whether its dependencies are there: the workspace has built and tested the
# same files, which are those of the template, and the program is the one that was built there.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-full}
template=$PWD/crates/turncoat-cli/template

cargo test --quiet --workspace --features demo/cli --no-run
CARGO_TARGET_DIR=$(realpath "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR
PATH=$CARGO_TARGET_DIR/debug:$PATH
# Below the checkout: its configuration counts there too, so that dependencies are not built a second time.
mkdir -p target
folder=$(mktemp -d -p target)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "new: FAILED, $*"
    exit 1
}

turncoat new demo
cd demo
diff -r --exclude=Cargo.toml --exclude=Cargo.lock "$template" . || fail 'it is not the template'
lines=$(find . -type f ! -name Cargo.lock -exec cat {} + | wc -l)
[ "$lines" -le 190 ] || fail "$lines lines are too many for a first look"
cargo fmt --check

# program ARGS: the command with the protocol in it.
case $mode in
--short)
    cargo tree --quiet --offline 2>../log >/dev/null || { cat ../log && fail 'it cannot be built'; }
    program() { "$CARGO_TARGET_DIR/debug/demo" "$@"; }
    ;;
full)
    cargo test --offline 2>../log || { cat ../log && fail 'its tests fail'; }
    # Tests need no command.
    ! cargo tree --quiet --offline --edges normal | grep -E 'rusqlite|axum|clap|turncoat-(cli|protocols)' ||
        fail 'its tests build the command'
    program() { cargo run --quiet --offline --features cli -- "$@"; }
    ;;
*) fail "no mode $mode" ;;
esac
! grep -A5 '^warning' ../log || fail 'it compiles with warnings'

program list protocols | grep -q '^demo  ' || fail 'its command does not list it'
program list protocols | grep -q '^pbft  ' || fail 'its command has lost the others'
program fuzz --help | grep -q 'Example: .* fuzz pbft' || fail 'its help shows nothing to type'
! program fuzz --help | grep '`turncoat \|: turncoat ' || fail 'its help names another program'
program check demo
# The tutorial on views and timers: the same crate with the files that the page shows.
if [ "$mode" = full ]; then
    (
        cd ..
        turncoat new mine
        cd mine
        decree=$template/../../turncoat/examples/decree
        cp "$decree/protocol.rs" src/lib.rs
        cp "$decree/tests.rs" tests/mine.rs
        sed -i 's/Board/Decree/' src/main.rs
        cargo test --offline 2>../log || { cat ../log && fail 'the tests of the tutorial fail'; }
        ! grep -A5 '^warning' ../log || fail 'the tutorial compiles with warnings'
        cargo run --quiet --offline --features cli -- check decree
    )
fi
# A violation, and the line that shows it again.
code=0
program fuzz demo --with unsigned 2>../log || code=$?
[ "$code" = 1 ] || { cat ../log && fail 'its bug is not found'; }
again=$(tail -n 1 ../log)
echo "$again"
code=0
bash -c "$again" || code=$?
[ "$code" = 1 ] || fail 'the violation does not show again'
echo "new: $lines lines, as they should be"
