#!/usr/bin/env bash
# The README keeps its word: commands print what it says, and what it quotes is in the files.
#
#   checks/readme.sh
#
# Of each console block, every line of output must be printed, but for `...` and lines with a time in seconds.
# Every rust block must be a part of the example, every toml block a scenario of docs/scenarios.
set -euo pipefail
cd "$(dirname "$0")/.."
fence='```'

cargo build --quiet --release -p turncoat-cli
PATH=$(realpath "${CARGO_TARGET_DIR:-target}/release"):$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

fail() {
    echo "readme: FAILED, $1"
    failed=1
}

# console BLOCK: runs its command, and looks for the lines below it.
console() {
    local command=${1%%$'\n'*} line
    command=${command#'$ '}
    [ "\$ $command" != "$1" ] || return 0 # Shown without output.
    echo "readme: $command"
    bash -c "$command" >"$folder/out" 2>&1 || true
    while IFS= read -r line; do
        case $line in '...' | *' in '*' s ('*) continue ;; esac
        grep -qxF -- "$line" "$folder/out" || fail "not printed: $line"
    done <<<"${1#*$'\n'}"
}

# quoted BLOCK FILE...: is in one of the files.
quoted() {
    local block=$1 file
    shift
    for file in "$@"; do
        [[ $(<"$file") != *"$block"* ]] || return 0
    done
    fail "in none of $*: $block"
}

kind='' block=''
while IFS= read -r line; do
    case $kind:$line in
    :"$fence"*) kind=${line#"$fence"} block='' ;;
    :*) ;;
    console:"$fence") kind='' && console "$block" ;;
    rust:"$fence") kind='' && quoted "$block" crates/turncoat/examples/bracha.rs ;;
    toml:"$fence") kind='' && quoted "$block" docs/scenarios/*.toml ;;
    *:"$fence") kind='' ;;
    *) block=${block:+$block$'\n'}$line ;;
    esac
done <README.md
[ "$failed" = 0 ] && echo "readme: as it says"
exit "$failed"
