#!/usr/bin/env bash
# How many slips does a campaign find? A slip is a mistake that an implementer could make in one of the correct protocols
# (crates/turncoat-protocols/src/slips.rs); each has an attack in crates/turncoat-protocols/mutants, played by hand.
#
#   checks/mutants.sh [OPTION...] [SCALE] [FUZZ-OPTION...]
#
#   --attacks     only verifies the attacks
#   --only TEXT   only slips with this text in their name
#   SCALE (1)     divides the time for each slip, which is 60 CPU seconds on one thread
#
# What follows SCALE goes to `turncoat fuzz`: `checks/mutants.sh 6 --strategy twins`.
#
# 1. Every attack violates its property with the slip, and nothing without it.
# 2. Every slip gets one campaign, until something is found or the time is over. A find counts only if the same scenario
#    without the slip does not violate that property.
#
# Prints a row for each slip, then the score of each family. Exits with 1 if an attack is not as it should be; slips that are
# not found are a result, not a failure. With PROFILE=dev and --attacks, a test verifies the attacks, so that the command need
# not be built.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

attacks_only=
only=
while :; do
    case ${1:-} in
    --attacks) attacks_only=1 && shift ;;
    --only) only=$2 && shift 2 ;;
    *) break ;;
    esac
done
scale=${1:-1}
shift || true
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
home=crates/turncoat-protocols/mutants

case ${PROFILE:-release} in
dev)
    # The whole workspace, as in other builds, so that what these have built need not be built again.
    with=(cargo test --quiet --workspace --features turncoat-cli/mutants)
    if [ -n "$attacks_only" ]; then
        # Building takes longer than running: without optimisation it takes half as long.
        "${with[@]}" --config 'profile.dev.package.turncoat-protocols.opt-level=0' --test mutants
        exit
    fi
    "${with[@]}" --no-run --test cli && programs=debug
    ;;
release) cargo build --quiet --release -p turncoat-cli --features mutants && programs=release ;;
*) echo "PROFILE is $PROFILE; it may be release or dev" >&2 && exit 2 ;;
esac
# The next build without slips takes its place.
turncoat=$folder/turncoat
cp "${CARGO_TARGET_DIR:-target}/$programs/turncoat" "$turncoat"

# said KEY FILE: what the first lines of an attack say about it.
said() {
    sed -n "s/^# $1: //p" "$2"
}

# attack FILE: violates its property with the slip, and nothing without it.
attack() {
    local slip property code=0
    slip=$(said slip "$1")
    property=$(said property "$1")
    "$turncoat" replay "$1" --slip "$slip" --expect "violation=$property" >"$folder/out" 2>&1 || code=$?
    [ "$code" = 0 ] || { cat "$folder/out" && echo "FAILED $slip: the attack does not violate $property" && return 1; }
    # Lines of a script that need what the slip has done cannot be carried out, and are skipped.
    "$turncoat" replay "$1" >"$folder/out" 2>&1 || true
    { grep -q '^no violation' "$folder/out" && grep -q 'the goal was reached' "$folder/out"; } ||
        { cat "$folder/out" && echo "FAILED $slip: without the slip the attack is not harmless" && return 1; }
}

failed=0
verified=0
for slip in $("$turncoat" list slips | awk '{ print $1 }'); do
    attack "$home/${slip/\//-}.toml" || failed=1
    verified=$((verified + 1))
done
echo "$verified attacks, $([ "$failed" = 0 ] && echo 'each as it should be' || echo FAILED)"
if [ "$failed" = 1 ] || [ -n "$attacks_only" ]; then
    exit "$failed"
fi

# cpu PID: the CPU time of a process, in hundredths of a second.
cpu() {
    awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null
}

# search OPTION...: a campaign within the time, as JSON lines in $folder/out. Sets `spent`, in hundredths of a second.
search() {
    local now
    spent=0
    rm -rf "$folder/corpus"
    "$turncoat" fuzz "$@" --slip "$slip" --corpus "$folder/corpus" --jobs 1 --for 1d --no-shrink --json \
        >"$folder/out" 2>"$folder/log" &
    local pid=$!
    while now=$(cpu $pid) && [ -n "$now" ] && [ "$now" -lt "$limit" ]; do
        spent=$now
        sleep 0.1
    done
    spent=${now:-$spent}
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || true
}

# The first violation in $folder/out that the correct protocol does not show. Prints its property and its run.
counts() {
    local property run file
    { grep '"type":"violation"' "$folder/out" || true; } | while read -r line; do
        property=$(sed 's/.*"property":"\([^"]*\)".*/\1/' <<<"$line")
        run=$(sed 's/.*"index":\([0-9]*\).*/\1/' <<<"$line")
        file=$(sed 's/.*"file":"\([^"]*\)".*/\1/' <<<"$line")
        # The file says what the run with the slip showed: without these lines it is the scenario alone.
        awk '/^\[/ { inside = $0 == "[expect]" } !inside' "$file" >"$folder/control.toml"
        "$turncoat" replay "$folder/control.toml" --json >"$folder/control" 2>/dev/null || true
        if ! grep -q "\"property\":\"$property\"" "$folder/control"; then
            echo "$run $property"
        fi
    done | sort -n | head -n 1
}

limit=$((6000 / scale))
printf '| slip | its attack violates | found | run | CPU s |\n|---|---|---|---|---|\n'
for slip in $("$turncoat" list slips | awk '{ print $1 }' | grep -F -- "$only"); do
    protocol=${slip%%/*}
    attack=$(said property "$home/${slip/\//-}.toml")
    search "$protocol" "$@" --until first
    found=$(counts)
    if [ -z "$found" ] && grep -q '"type":"violation"' "$folder/out"; then
        # What came first is no find: looks on, to the end of the time.
        search "$protocol" "$@" --until never
        found=$(counts)
    fi
    read -r run property <<<"${found:-- not found}"
    printf '| %s | %s | %s | %s | %d.%d |\n' \
        "$slip" "$attack" "$property" "$run" $((spent / 100)) $((spent / 10 % 10)) | tee -a "$folder/rows"
done

echo
printf '| family | slips | found |\n|---|---|---|\n'
awk -F ' *[|] *' '
    { family = $2; sub("/.*", "", family); if (family ~ /hotstuff/) family = "HotStuff family" }
    !(family in slips) { order[++families] = family }
    { slips[family]++; all++ }
    $4 != "not found" { found[family]++; score++ }
    END {
        for (i = 1; i <= families; i++) printf "| %s | %d | %d |\n", order[i], slips[order[i]], found[order[i]]
        printf "| all | %d | %d (%d %%) |\n", all, score, 100 * score / all
    }' "$folder/rows"
