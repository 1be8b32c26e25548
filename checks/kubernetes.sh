#!/usr/bin/env bash
# The manifest of docs/clusters/kubernetes.yaml is valid, and its pods say the right thing to Kubernetes.
#
#   checks/kubernetes.sh
#
# It is held against the schemas of the oldest version that it names and of the newest that kubernetes-validate (PyPI)
# knows, and a copy with a misspelt key is refused. Then the command of the pod runs here, with a program in place of
# turncoat that prints its arguments and exits as it is told. No cluster is needed, and none is asked.
set -euo pipefail
cd "$(dirname "$0")/.."
manifest=$PWD/docs/clusters/kubernetes.yaml
oldest=$(sed -n 's/^# .* on Kubernetes, \([0-9.]*\) or later.*/\1/p' "$manifest")

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# fail WORD..: says what is wrong and ends.
fail() { echo "kubernetes: FAILED, $*" && exit 1; }

python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check kubernetes-validate==1.37.0
# valid FILE OPTION..: whether the file is as the schema has it, and has nothing else in it.
valid() { venv/bin/kubernetes-validate --strict "${@:2}" "$1" >log 2>&1; }

[ -n "$oldest" ] || fail 'the manifest does not name a version of Kubernetes'
for version in "$oldest" 1.37; do
    valid "$manifest" --kubernetes-version "$version" || { cat log && fail "not valid for Kubernetes $version"; }
done
for key in backoffLimitPerIndex accessModes readOnlyRootFilesystem; do
    sed "s/\<$key:/${key}s:/" "$manifest" >misspelt.yaml
    ! valid misspelt.yaml && grep -q "'${key}s' was unexpected" log || { cat log && fail "${key}s is not refused"; }
done

cat >turncoat <<'END'
#!/bin/sh
echo "$*" >arguments
exit "$CODE"
END
chmod +x turncoat
venv/bin/python - "$manifest" >command <<'END'
import sys, yaml
job = next(part for part in yaml.safe_load_all(open(sys.argv[1])) if part["kind"] == "Job")
sys.stdout.write("\0".join(job["spec"]["template"]["spec"]["containers"][0]["command"]) + "\0")
END
mapfile -d '' -t pod <command

# pod INDEX SHARDS CODE SHARD EXPECTED: the pod of this index runs the shard and exits as expected if the program exits with CODE.
pod() {
    local code=0
    rm -f arguments
    env PATH="$folder:$PATH" JOB_COMPLETION_INDEX="$1" SHARDS="$2" JOBS=2 CODE="$3" "${pod[@]}" 2>log || code=$?
    [ "$code" = "$5" ] || fail "a pod exits with $code where turncoat exits with $3"
    [ "$(cat arguments)" = "shard plan.json $4 --out results --jobs 2" ] || fail "pod $1 of '$2' does: turncoat $(cat arguments)"
}
pod 3 '' 0 3 0
pod 3 '' 1 3 0
for code in 2 3 70 130 137; do
    pod 3 '' "$code" 3 "$code"
done
pod 0 '4 7 19' 1 4 0
pod 2 '4 7 19' 0 19 0
rm arguments
! JOB_COMPLETION_INDEX=3 SHARDS='4 7 19' JOBS=2 CODE=0 PATH="$folder:$PATH" "${pod[@]}" 2>log && [ ! -e arguments ] ||
    fail 'a pod without a shard runs one'
echo "kubernetes: the manifest is valid for Kubernetes $oldest and 1.37, a misspelt key is refused, and a violation is a success"
