#!/usr/bin/env bash
# The README keeps its word: commands print what it says, and what it quotes is in the files.
#
#   checks/readme.sh            compares
#   checks/readme.sh --write    puts into the README what the commands print now
#
# A console block is a command and its output: all of it, or its first lines, `...`, and its last lines. Times differ
# and are not compared. The corpus is empty at the start. A rust block is a part of the example, of its test or of the
# template of `new`, a toml block a part of a scenario of docs/scenarios or suite, or of docs/turncoat.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
fence='```'

. checks/programs.bash
PATH=$programs:$PATH
folder=$(mktemp -d)
failed=0

# What an earlier campaign has found would be in the way; it comes back in the end. What commands save goes.
restore() {
    rm -rf turncoat-corpus livelock.toml
    [ ! -e "$folder/turncoat-corpus" ] || mv "$folder/turncoat-corpus" .
    rm -rf "$folder"
}
[ ! -e turncoat-corpus ] || mv turncoat-corpus "$folder"
trap restore EXIT

# as_built COMMAND: the same without building it again, where it is not to be built for release.
as_built() {
    case ${PROFILE:-release} in
    release) echo "$1" ;;
    *) sed -E "s|cargo run --release -p turncoat-cli (--features [a-z]+ )?--|turncoat|; s|cargo run --release -p turncoat --example |$programs/examples/|" <<<"$1" ;;
    esac
}

# console BLOCK: the block with what its command prints now; a command without output is not run.
console() {
    local command=${1%%$'\n'*} output=${1#*$'\n'} now lines
    if [ "$command" = "$1" ]; then
        echo "$1"
        return
    fi
    echo "readme: ${command#'$ '}" >&2
    # Without the empty lines at the end.
    now=$(bash -c "$(as_built "${command#'$ '}")" 2>"$folder/log" || true)
    echo "$command"
    if ! grep -qx '\.\.\.' <<<"$output"; then
        echo "$now"
        return
    fi
    lines=$(sed '/^\.\.\.$/,$d' <<<"$output" | wc -l)
    head -n "$lines" <<<"$now"
    echo '...'
    lines=$(sed '1,/^\.\.\.$/d' <<<"$output" | wc -l)
    tail -n "$lines" <<<"$now"
}

# quoted BLOCK FILE...: the block, which is in one of the files.
quoted() {
    local block=$1 file found=no
    shift
    for file in "$@"; do
        [[ $(<"$file") != *"$block"* ]] || found=yes
    done
    echo "$block"
    if [ "$found" = no ]; then
        printf 'readme: FAILED, not in %s:\n%s\n' "$*" "$block" >&2
        failed=1
    fi
}

kind='' block=''
while IFS= read -r line; do
    case $kind:$line in
    :"$fence"*) kind=${line#"$fence"} block='' && echo "$line" ;;
    :*) echo "$line" ;;
    *:"$fence")
        case $kind in
        console) console "$block" ;;
        rust) quoted "$block" crates/turncoat/{examples/bracha,tests/it/check}.rs crates/turncoat-cli/template/src/*.rs ;;
        toml) quoted "$block" docs/turncoat.toml docs/scenarios/*.toml suite/*/*.toml ;;
        *) echo "$block" ;;
        esac
        kind='' && echo "$line"
        ;;
    *) block=${block:+$block$'\n'}$line ;;
    esac
done <README.md >"$folder/README.md"

if [ "${1:-}" = --write ]; then
    cp "$folder/README.md" README.md
    exit "$failed"
fi
without_times() {
    sed 's/ in [0-9.]* s (.*/ in .../; s/ ([0-9.]* s, / (/' "$1"
}
if ! diff <(without_times README.md) <(without_times "$folder/README.md"); then
    echo 'readme: FAILED, commands print other lines (>) than it says (<); checks/readme.sh --write puts them in'
    failed=1
fi
[ "$failed" = 1 ] || echo 'readme: as it says'
exit "$failed"
