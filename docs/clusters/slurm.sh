#!/bin/bash
# One task of a Slurm job array runs one shard of a plan. The plan, the program and the folder of results are on a disk
# that all nodes share. Another path to the program is given in the environment variable TURNCOAT.
#
#   turncoat plan fuzz pbft-java --until never --runs 2000000000 --shard-seconds 600
#   sbatch --array=0-19 docs/clusters/slurm.sh plan.json results                  all shards, if they are 0 to 19
#   sbatch --array="$(turncoat plan --missing results | paste -sd,)" docs/clusters/slurm.sh plan.json results
#   sbatch --dependency=afterany:JOB --wrap='turncoat merge results --db campaign.db'
#
# The third command is for afterwards: it runs what is still missing, if anything is. The fourth merges when the array JOB
# has ended, well or not; one may also merge by hand, at any time and more than once.
#
# The index of a task must be less than MaxArraySize (1001 if the site has not set it: scontrol show config). Make longer
# shards, or submit a thousand at a time, with a third argument that is added to the index:
#
#   sbatch --array=0-999 docs/clusters/slurm.sh plan.json results 1000            shards 1000 to 1999
#
#SBATCH --job-name=turncoat
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=512M
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=turncoat-%A_%a.log

# A task that is stopped and requeued starts its shard anew: a result is there and complete or not there.
code=0
"${TURNCOAT:-turncoat}" shard "$1" "$((SLURM_ARRAY_TASK_ID + ${3:-0}))" --out "$2" --jobs "${SLURM_CPUS_PER_TASK:-1}" || code=$?
# 1 says that a violation was found. To Slurm, that is success.
[ "$code" = 1 ] || exit "$code"
