#!/usr/bin/env bash
# The control of commonware's simplex, an engine of others in a crate of its own: as far as we know it is correct, so nothing may be
# found in it. And what a host can get wrong must be found.
#
#   checks/commonware.sh [SCALE]     SCALE (1) divides the number of runs, which is 70 thousand in all
#
# 1. Builds engines/commonware in release, which takes ten minutes or more for the first time, and runs its tests.
# 2. `turncoat check`: is it deterministic, does it survive nonsense, does it make progress?
# 3. Campaigns: without faults under each scheduler, and with each strategy; some again with nobody cut off, or with
#    leaders that stay.
# 4. Each flag is caught, and what is saved of it replays.
#
# Prints how long each part took, and one row per campaign. Exits with 1, after the last row, if any of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
scale=${1:-1}
engine=engines/commonware
proto=commonware-simplex
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
total=0

fail() {
    echo "FAILED $1"
    failed=1
}

# part NAME COMMAND...: runs it, and says how long it took.
part() {
    local name=$1 since=$SECONDS
    shift
    "$@" || fail "$name"
    echo "$name: $((SECONDS - since)) s"
}

# value KEY: the number that belongs to a key of the last summary.
value() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$summary"
}

# campaign NAME RUNS EXPECTED OPTION...: one campaign, one row. EXPECTED is none or some: whether anything may be found.
campaign() {
    local name=$1 runs=$(($2 / scale > 100 ? $2 / scale : 100)) expected=$3 code=0
    shift 3
    (cd "$folder" && "$turncoat" fuzz "$proto" "$@" --runs "$runs" --until never --no-shrink --json) \
        >"$folder/out" 2>"$folder/log" || code=$?
    summary=$(tail -n 1 "$folder/out")
    if [ "$code" -gt 1 ] || [ "$(value runs)" != "$runs" ]; then
        cat "$folder/log"
        fail "$name: exit code $code, $(value runs) runs"
        return
    fi
    total=$((total + runs))
    printf '%-36s %9d %10d %12d %8.1f\n' "$name" "$runs" "$(value violating)" "$(value mutations)" "$(value seconds)"
    if [ "$expected" = none ] && [ "$(value violating)" != 0 ]; then
        fail "$name: $(grep -o '"violations":{[^}]*}' <<<"$summary")"
        cat "$folder"/turncoat-corpus/*.toml
    elif [ "$expected" = some ] && [ "$(value violating)" = 0 ]; then
        fail "$name: nothing was found"
    fi
}

# replays: what was saved of the last campaign shows itself again.
replays() {
    local file code
    for file in "$folder"/turncoat-corpus/*.toml; do
        code=0
        "$turncoat" replay "$file" >"$folder/out" 2>&1 || code=$?
        [ "$code" = 1 ] || fail "replay $(basename "$file"): exit code $code"
    done
}

clean() {
    printf '%-36s %9s %10s %12s %8s\n' campaign runs violating mutations seconds
    for scheduler in fifo timed sync async; do
        campaign "fault-free, $scheduler" 2000 none --strategy none --scheduler "$scheduler" --requests 10
    done
    campaign naive 4000 none --strategy naive --requests 6
    campaign random 8000 none --strategy random --requests 6
    campaign "random, impatient" 4000 none --strategy random --set timeout=20 --requests 6
    campaign "byzzfuzz, c=2, d=1" 4000 none --strategy byzzfuzz --set c=2 --set d=1 --requests 6
    campaign "byzzfuzz, c=2, d=2, hold, any" 4000 none --strategy byzzfuzz --set c=2 --set d=2 --set scope=any \
        --set network.loss=hold --requests 6
    campaign restarts 4000 none --strategy restarts --requests 6
    campaign "restarts, n=7" 2000 none --strategy restarts -n 7 -f 2 --set c=1 --requests 6
    campaign twins 2000 none --strategy twins --set rounds=7
    campaign two-faced 8000 none --strategy two-faced
    campaign "two-faced, nobody is cut off" 4000 none --strategy two-faced --set protocol.block=false
    campaign "random, nobody is cut off" 4000 none --strategy random --set protocol.block=false --requests 6
    local proto=commonware-simplex-terms
    campaign "terms, fault-free" 2000 none --strategy none --requests 10
    campaign "terms, portfolio" 4000 none --strategy portfolio --requests 10
    campaign "terms, restarts" 2000 none --strategy restarts --requests 10
}

flags() {
    campaign accept-any-signature 4000 some --strategy portfolio --with accept-any-signature
    replays
    campaign no-quorum 1000 some --strategy byzzfuzz --with no-quorum --set c=4 --set d=0 \
        --set only=notarization.payload=fresh+votes,finalization.payload=fresh+votes
    replays
    campaign no-log 1000 some --strategy restarts --with no-log
    replays
}

part build cargo build --quiet --release --manifest-path "$engine/Cargo.toml"
turncoat=$(realpath "$engine/target/release/turncoat-commonware")
part tests cargo test --quiet --release --manifest-path "$engine/Cargo.toml"
part check "$turncoat" check "$proto" --runs $((1000 / scale > 20 ? 1000 / scale : 20))
part campaigns clean
part flags flags
echo "commonware: $total runs, $([ "$failed" = 0 ] && echo 'as it should be' || echo FAILED)"
exit "$failed"
