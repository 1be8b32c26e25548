#!/usr/bin/env bash
# The recipe of docs/clusters/slurm.sh, on a Slurm of one machine: a campaign of 20 shards comes to the store of one process.
#
#   checks/slurm.sh [SCALE]            SCALE (1) divides the 200,000 runs
#
# In the middle one task is requeued, as on a lost node, and the process of another is killed, as for want of memory. The
# first must run again by itself, the second must be what `plan --missing` names and the recipe runs once more. Slurm is
# installed if it is not there and this is root on Debian. It needs no systemd and no cgroups, and its files are in a
# temporary folder. TURNCOAT and SAME_STORE name programs to be used instead of those that cargo builds.
set -euo pipefail
cd "$(dirname "$0")/.."
recipe=$PWD/docs/clusters/slurm.sh
runs=$((200000 / ${1:-1}))
shards=20
campaign=(pbft-java --strategy byzzfuzz --until never --runs "$runs")
PATH=$PATH:/usr/sbin:/sbin

# installed: whether all that is needed of Slurm is there.
installed() { [ "$(command -v munged slurmctld slurmd sbatch | wc -l)" = 4 ]; }

if ! installed; then
    if [ "$(id -u)" != 0 ] || [ ! -e /etc/debian_version ]; then
        echo 'slurm: not installed, skipped'
        exit 0
    fi
    apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends slurm-wlm munge >/dev/null
fi

if [ -n "${TURNCOAT:-}" ]; then
    turncoat=$(realpath "$TURNCOAT")
    same_store=$(realpath "${SAME_STORE:?is needed beside TURNCOAT}")
else
    . checks/programs.bash
    # As `cargo test` has built it.
    cargo build --quiet --workspace --example same_store
    same_store=$(realpath "${CARGO_TARGET_DIR:-target}/debug")/examples/same_store
fi
export TURNCOAT=$turncoat
folder=$(mktemp -d)
cd "$folder"
# munged wants a socket that all may reach.
chmod 755 .
mkdir state spool
# Nothing here is for another Slurm that this machine may belong to.
unset "${!SLURM_@}" "${!SBATCH_@}"
export SLURM_CONF=$folder/slurm.conf

daemons=()
why=
# finish: stops the jobs, then the daemons, and removes the folder.
finish() {
    local code=$? pid
    trap '' INT TERM
    if [ "$code" != 0 ]; then
        tail -n 20 ./*.log >&2 || true
        echo "slurm: FAILED$why" >&2
    fi
    timeout 10 scancel --quiet --user="$(id -un)" 2>/dev/null || true
    for pid in $(pgrep -f "shard $folder/plan.json"); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    for _ in $(seq 50); do
        [ -n "$(timeout 10 squeue --noheader 2>/dev/null)" ] || break
        sleep 0.2
    done
    for pid in "${daemons[@]}"; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in "${daemons[@]}"; do
        timeout 10 tail --pid="$pid" -f /dev/null || kill -KILL "$pid" 2>/dev/null || true
    done
    rm -rf "$folder"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# fail WORD..: ends, and says what is wrong.
fail() { why=", $*" && exit 1; }

# within SECONDS COMMAND..: tries a command until it succeeds, for so long.
within() {
    local end=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$end" ] || fail "not in $1 s: ${*:2}"
        sleep 0.05
    done
}

# port: one at which nobody listens, below those that the system gives away.
port() {
    local port
    while port=$((RANDOM % 12000 + 20000)) && (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
    echo "$port"
}

# daemon COMMAND..: starts one, which ends with this check.
daemon() {
    "$@" >>"$1.log" 2>&1 &
    daemons+=($!)
}

host=$(hostname -s)
cat >slurm.conf <<END
ClusterName=check
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(port)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
KillWait=1
NodeName=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=2 RealMemory=4096
PartitionName=all Nodes=ALL Default=YES
END
(umask 077 && head -c 1024 /dev/urandom >munge.key)
daemon munged --foreground --key-file=munge.key --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
    --log-file="$folder/munge.log" --seed-file="$folder/munge.seed"
within 20 [ -S munge.socket ]
daemon slurmctld -D
daemon slurmd -D
# idle: whether the machine is ready for jobs.
idle() { [ "$(timeout 10 sinfo --noheader --format=%T 2>/dev/null)" = idle ]; }
within 60 idle

# submit INDICES: the array by the recipe, and a merge after it; sets job.
submit() {
    job=$(sbatch --parsable --array="$1" "$recipe" "$folder/plan.json" "$folder/results")
    sbatch --parsable --output=merge.log --open-mode=append --dependency="afterany:$job" \
        --wrap="'$turncoat' merge '$folder/results' --db campaign.db" >/dev/null
}

# catch: stops a process of the array in the middle of its shard; sets pid and k, its id and the number of the shard.
catch() {
    local word
    pid=$(pgrep -f "shard $folder/plan.json" | head -n 1) && kill -STOP "$pid" 2>/dev/null || return 1
    k=
    mapfile -d '' -t word <"/proc/$pid/cmdline" && k=${word[3]:-}
    [ -n "$k" ] && [ "$k" != "${requeued:-}" ] && ! compgen -G "results/$(printf %06d "$k")-*" >/dev/null && return
    kill -CONT "$pid" 2>/dev/null
    return 1
}

# hurried: lets the requeued task start now, if it waits already. Slurm would give it two minutes of rest.
hurried() {
    [ "$(squeue --noheader --jobs="${job}_$requeued" --format=%T)" = PENDING ] && scontrol update "JobId=${job}_$requeued" StartTime=now
}

# over: whether all jobs have ended.
over() { jobs=$(timeout 10 squeue --noheader) && [ -z "$jobs" ]; }

# tasks WORD: how many tasks of the array Slurm describes by this word.
tasks() { scontrol --oneliner show job "$job" | grep -c -w "$1" || true; }

"$turncoat" plan fuzz "${campaign[@]}" --shard-runs $(((runs + shards - 1) / shards)) >plan.log
start=$SECONDS
submit "0-$((shards - 1))"
within 60 catch
requeued=$k
scontrol requeue "${job}_$k"
within 60 catch
kill -KILL "$pid"
killed=$k
within 60 hurried
within 300 over
missing=$("$turncoat" plan --missing results | paste -sd,)
[ "$missing" = "$killed" ] || fail "shard $killed was killed, and shards $missing are missing"
[ "$(tasks JobState=COMPLETED) $(tasks Restarts=1) $(tasks JobState=FAILED)" = "$((shards - 1)) 1 1" ] ||
    fail 'another task was requeued, or has failed'
submit "$missing"
within 300 over
[ -z "$("$turncoat" plan --missing results)" ] || fail 'shards are missing after they were submitted again'

code=0
"$turncoat" fuzz "${campaign[@]}" --db whole.db >fuzz.log 2>&1 || code=$?
[ "$code" = 1 ] || fail "the campaign of one process ends with $code"
"$same_store" whole.db campaign.db || fail 'the rows differ'
echo "slurm: $runs runs as an array of $shards tasks in $((SECONDS - start)) s, shard $requeued requeued, shard $killed killed and submitted again: equal row for row"
