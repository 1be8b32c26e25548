#!/usr/bin/env bash
# A campaign over a Ray cluster is the campaign of one process, whatever dies meanwhile.
#
#   checks/ray.sh [SCALE]              SCALE (1) divides the 2,000,000 runs of the campaign
#
# Installs Ray and turncoat-ray in a virtual environment (RAY_VENV, or a new one for this time), starts a cluster of two nodes on
# this machine, and runs a campaign on it three times: undisturbed; with the second node killed in the middle; with the driver
# killed in the middle and started again. Each store must equal, row for row, that of one process. At full size also: with 6,000,000
# runs in shards of about 30 s the cluster takes at most 5 % longer than `turncoat fuzz` with as many threads, its driver's start and
# the merge included; the better of two times each.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
scale=${1:-1}
runs=$((2000000 / scale))
size=$(((runs + 5) / 6))

if [ -n "${TURNCOAT:-}" ]; then
    turncoat=$TURNCOAT same=$SAME_STORE
else
    . checks/programs.bash
    cargo build --quiet --workspace --example same_store
    same=$(realpath "${CARGO_TARGET_DIR:-target}/debug")/examples/same_store
fi
folder=$(mktemp -d)
end() {
    # The cluster ends with its input.
    exec 3>&- || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

venv=${RAY_VENV:-$folder/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
cp -r python "$folder/package"
"$venv/bin/pip" install --quiet --disable-pip-version-check "$folder/package"
PATH=$venv/bin:$PATH
export RAY_AUTH_MODE=disabled RAY_USAGE_STATS_ENABLED=0
cd "$folder"

# now: the clock in milliseconds.
now() { echo $(($(date +%s%N) / 1000000)); }

# fails TEXT..: ends the check.
fails() { echo "ray: FAILED, $*" >&2 && exit 1; }

# start: a cluster of two nodes, whose address is in RAY_ADDRESS and which obeys file descriptor 3.
start() {
    rm -f orders && mkfifo orders
    python "$root/python/tests/two_nodes.py" <orders >answers 2>cluster.log &
    cluster=$!
    exec 3>orders
    await 'grep -q address answers' 'the cluster does not start'
    export RAY_ADDRESS
    RAY_ADDRESS=$(sed -n 's/.*"address": "\([^"]*\)".*/\1/p' answers)
}

# stop: ends it.
stop() {
    exec 3>&-
    wait "$cluster" || true
}

# await CONDITION TEXT..: waits for something for two minutes.
await() {
    local i
    for i in $(seq 1200); do
        ! eval "$1" || return 0
        sleep 0.1
    done
    cat ./*.log >&2
    fails "${@:2}"
}

# drive FOLDER: runs the plan on the cluster. It finds violations, which is no failure.
drive() {
    local code=0
    turncoat-ray plan.json --out "$1" --db "$1.db" --turncoat "$turncoat" >"$1.log" 2>&1 || code=$?
    [ "$code" = 1 ] || { cat "$1.log" >&2 && fails "the driver ended with $code"; }
}

# files FOLDER: how many results there are.
files() { find "$1" -name '*.tcs' 2>/dev/null | wc -l; }

# equal FOLDER: whether the store is that of one process.
equal() { "$same" whole.db "$1.db" || fails "$1: the rows differ"; }

campaign=(fuzz pbft-java --strategy byzzfuzz --until never --runs "$runs")
begin=$(now)
"$turncoat" "${campaign[@]}" --jobs 2 --db whole.db --no-shrink >whole.log 2>&1 || [ $? = 1 ] || fails 'no campaign'
alone=$(($(now) - begin))
shards=$("$turncoat" plan "${campaign[@]}" --shard-runs "$size" --json | sed -n 's/.*"shards":\([0-9]*\).*/\1/p')
half=$(((shards + 1) / 2))

start
begin=$(now)
drive undisturbed
took=$(($(now) - begin))
equal undisturbed
echo "ray: $runs runs in $shards shards on two nodes: equal row for row, $took ms (one process with two threads: $alone ms)"

drive killed &
driver=$!
await "[ \$(files killed) -ge $half ]" 'half of the shards are never done'
echo kill >&3
await 'grep -q programs answers' 'the node does not die'
for program in $(sed -n 's/.*"programs": \[\(.*\)\].*/\1/p' answers | tr -d ,); do
    await "! kill -0 $program 2>/dev/null" 'a program outlives its worker'
done
wait "$driver" || fails 'the driver gave up when a node died'
equal killed
echo 'ray: a node killed in the middle: equal row for row, and its program died with it'
stop

start
turncoat-ray plan.json --out resumed --db resumed.db --turncoat "$turncoat" >resumed.log 2>&1 &
driver=$!
await "[ \$(files resumed) -ge $half ]" 'half of the shards are never done'
kill -KILL "$driver"
wait "$driver" 2>/dev/null || true
left=$("$turncoat" plan --missing resumed | wc -l)
drive resumed
equal resumed
echo "ray: the driver killed with $left shards left, and started again: equal row for row"
stop

[ "$scale" = 1 ] || exit 0
campaign=(fuzz pbft-java --strategy byzzfuzz --until never --runs 6000000)
# As many for one node as for the other.
"$turncoat" plan "${campaign[@]}" --shard-runs 1000000 >plan.log
start
alone=0 took=0
for i in 1 2; do
    rm -rf long*
    begin=$(now)
    "$turncoat" "${campaign[@]}" --jobs 2 --db long.db --no-shrink >whole.log 2>&1 || [ $? = 1 ] || fails 'no campaign'
    time=$(($(now) - begin)) && alone=$((alone == 0 || time < alone ? time : alone))
    rm -rf long*
    begin=$(now)
    drive long
    time=$(($(now) - begin)) && took=$((took == 0 || time < took ? time : took))
done
stop
echo "ray: 6000000 runs in $took ms on two nodes, in $alone ms by one process: $((took * 100 / alone)) %"
[ $((took * 100)) -le $((alone * 105)) ] || fails 'too slow'
