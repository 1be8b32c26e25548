#!/usr/bin/env bash
# A campaign that is killed loses nothing, nor does a merge, a full disk loses nothing, and a store costs little.
#
#   checks/store.sh [SCALE [KILLS]]    SCALE (1) divides the numbers of runs and of kills, unless KILLS says how many
#
# 50 times a campaign of 200,000 runs is killed with SIGKILL at a random moment and resumed: the store must equal, row
# for row, that of a campaign that nobody kills. As often a merge of its shards is killed and done again. Then a campaign
# on a disk that is too small for it (a tmpfs, where one may mount one). At full size also: speed with the store at least
# 80 % of that without it, at most 100 bytes a run and no more memory for 5,000,000 runs than for 500,000.
set -euo pipefail
cd "$(dirname "$0")/.."
scale=${1:-1}
runs=$((200000 / scale))
kills=${2:-$((scale > 10 ? 3 : 50 / scale))}

. checks/programs.bash
# As `cargo test` has built it.
cargo build --quiet --workspace --example same_store
debug=$(realpath "${CARGO_TARGET_DIR:-target}/debug")
folder=$(mktemp -d)
trap 'umount "$folder/disk" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"

fuzz() { "$turncoat" fuzz pbft-java --strategy byzzfuzz --until never --no-shrink --runs "$@" >out 2>log; }
same() { "$debug/examples/same_store" "$@"; }

# finds COMMAND..: runs a campaign, in which violations are no failure.
finds() {
    local code=0
    "$@" || code=$?
    [ "$code" -le 1 ] || { cat log >&2 && echo "store: FAILED with $code: $*" >&2 && exit 1; }
}

# now: the clock in milliseconds.
now() { echo $(($(date +%s%N) / 1000000)); }

# killed MILLISECONDS COMMAND..: starts a command that takes so long, and kills it at a random moment, which `moment` tells.
killed() {
    "${@:2}" >out 2>log &
    local pid=$!
    moment=$((RANDOM * $1 / 32768))
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
}

start=$(now)
finds fuzz "$runs" --db whole.db
took=$(($(now) - start))
for kill in $(seq "$kills"); do
    rm -f killed.db*
    killed "$took" "$turncoat" fuzz pbft-java --strategy byzzfuzz --until never --no-shrink --runs "$runs" --db killed.db
    finds fuzz "$runs" --db killed.db --resume
    same whole.db killed.db || { echo "store: FAILED, kill $kill after $moment ms: the rows differ" && exit 1; }
done
echo "store: killed $kills times at random moments, resumed, $runs runs each: equal row for row"

"$turncoat" plan fuzz pbft-java --strategy byzzfuzz --until never --runs "$runs" --shard-runs $(((runs + 4) / 5)) >out
for shard in 0 1 2 3 4; do
    finds "$turncoat" shard plan.json "$shard" --out results --jobs 0 >out 2>log
done
start=$(now)
"$turncoat" merge results --db merged.db >out
took=$(($(now) - start))
for kill in $(seq "$kills"); do
    rm -f merged.db*
    killed "$took" "$turncoat" merge results --db merged.db
    "$turncoat" merge results --db merged.db >out
    same whole.db merged.db || { echo "store: FAILED, merge $kill killed after $moment ms: the rows differ" && exit 1; }
done
echo "store: a merge killed $kills times at random moments and done again: equal row for row"

mkdir disk
if mount -t tmpfs -o size=512k tmpfs disk 2>/dev/null; then
    code=0
    fuzz 20000 --db disk/small.db || code=$?
    grep -q 'the disk is full' log && [ "$code" = 2 ] || { cat log && echo 'store: FAILED, no word of a full disk' && exit 1; }
    mount -o remount,size=64m disk
    finds fuzz 20000 --db disk/small.db --resume
    finds fuzz 20000 --db enough.db
    same enough.db disk/small.db || { echo 'store: FAILED, a full disk has lost rows' && exit 1; }
    echo 'store: a full disk gives an error and loses nothing'

    cp enough.db disk/kept.db
    mount -o remount,ro disk
    code=0
    fuzz 30000 --db disk/kept.db --resume || code=$?
    grep -q 'read-only' log && [ "$code" = 2 ] || { cat log && echo 'store: FAILED, no word of a read-only file' && exit 1; }
    same enough.db disk/kept.db || { echo 'store: FAILED, a read-only store cannot be read' && exit 1; }
    echo 'store: a read-only file gives an error, and can be read'
else
    echo 'store: no disk may be mounted here, full and read-only disks skipped'
fi
[ "$scale" = 1 ] || exit 0

# seconds PROTOCOL OPTION..: the best of three campaigns of 200,000 runs, in milliseconds.
best() {
    local least=0 start took
    for _ in 1 2 3; do
        rm -f speed.db
        start=$(now)
        "$turncoat" fuzz "$1" --until never --no-shrink --runs 200000 "${@:2}" >out 2>log || [ $? = 1 ]
        took=$(($(now) - start))
        least=$((least == 0 || took < least ? took : least))
    done
    echo "$least"
}

for protocol in pbft pbft-java; do
    without=$(best "$protocol")
    with=$(best "$protocol" --db speed.db)
    bytes=$(($(stat -c %s speed.db) / 200000))
    echo "store: $protocol, 200000 runs in $without ms without a store, $with ms with it: $((without * 100 / with)) %; $bytes bytes a run"
    [ $((without * 100)) -ge $((with * 80)) ] || { echo 'store: FAILED, too slow' && exit 1; }
    [ "$bytes" -le 100 ] || { echo 'store: FAILED, too large' && exit 1; }
done

# peak RUNS: the most memory of a campaign with a store, in KiB.
peak() {
    local pid now most=0
    rm -f large.db
    "$turncoat" fuzz pbft --until never --runs "$1" --db large.db >out 2>log &
    pid=$!
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status" 2>/dev/null) && [ -n "$now" ]; do
        most=$now
        sleep 0.1
    done
    wait "$pid"
    echo "$most"
}
few=$(peak 500000)
many=$(peak 5000000)
bytes=$(($(stat -c %s large.db) / 5000000))
echo "store: $few KiB of memory at 500000 runs, $many KiB at 5000000, $bytes bytes a run"
[ "$many" -le $((few * 105 / 100 + 1024)) ] && [ "$bytes" -le 100 ] || { echo 'store: FAILED, it grows' && exit 1; }
