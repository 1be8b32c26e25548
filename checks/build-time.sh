#!/usr/bin/env bash
# What a first build, a test run and a campaign cost, beside an older commit. By hand, on an idle machine: half an hour.
#
#   checks/build-time.sh [BASE] [PART...]
#
# BASE is a commit (773b81a, the last one that built releases with fat LTO). Parts, all of them without any:
#
#   first    the README's first command from a clean clone, in wall time: at most half
#   speed    deliveries per CPU second of campaigns: at least 0.85 with the profile `release`, at least as many with `dist`
#   new      `turncoat new demo && cargo test`, in CPU time: at most a quarter
#   tests    `cargo test --workspace`, in CPU time: at most 0.7
#
# All parts compare two clones in one run; crates are downloaded before the clock starts. Of campaigns only those count that play the
# same runs in both.
set -euo pipefail
cd "$(dirname "$0")/.."
base=773b81a
if [ $# -gt 0 ] && git rev-parse --quiet --verify "$1^{commit}" >/dev/null; then
    base=$1
    shift
fi
parts=${*:-first speed new tests}
unset CARGO_TARGET_DIR

# What a command that failed has said; the standard error of `cost` is what `time` prints.
exec 3>&2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for name in base head; do
    git clone --quiet --no-hardlinks . "$folder/$name"
done
git -C "$folder/base" checkout --quiet "$base"
for name in base head; do
    (cd "$folder/$name" && cargo fetch --quiet --locked)
done

failed=0
# compare WHAT BASE HEAD least|most RATIO
compare() {
    python3 - "$@" <<'PY' || failed=1
import sys
what, base, head, side, bound = sys.argv[1:]
base, head, bound = float(base), float(head), float(bound)
ratio = head / base
fine = ratio >= bound if side == "least" else ratio <= bound
print(f"build-time: {what}: {base:.4g} before, {head:.4g} now, ratio {ratio:.2f}, at {side} {bound}{'' if fine else ': FAILED'}")
sys.exit(not fine)
PY
}

# cost wall|cpu COMMAND...: its seconds.
cost() {
    local format=%R
    [ "$1" = wall ] || format='%U %S'
    shift
    local TIMEFORMAT=$format
    { time "$@" >>"$folder/log" 2>&1 || { tail -n 20 "$folder/log" >&3 && exit 1; }; } 2>&1 | awk '{ print $1 + $2 }'
}

build() {
    (cd "$folder/$1" && cargo build --quiet --locked --profile "$2" -p turncoat-cli)
}

first() {
    local before now
    before=$(cost wall build base release)
    now=$(cost wall build head release)
    compare "first command (wall s)" "$before" "$now" most 0.5
}

speed() {
    build base release
    build head release
    build head dist
    python3 - "$folder" <<'PY' || failed=1
import json, math, resource, subprocess, sys

folder = sys.argv[1]
programs = {"base": "base/target/release", "release": "head/target/release", "dist": "head/target/dist"}
campaigns = {"pbft": 20000, "hotstuff": 10000, "fast-hotstuff": 10000, "tendermint": 5000, "zyzzyva": 10000, "hbft": 10000, "fab": 10000}

def campaign(place, protocol, runs):
    """What came out, and deliveries per CPU second."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    command = [f"{folder}/{place}/turncoat", "fuzz", protocol, "--runs", str(runs), "--until", "never", "--jobs", "1", "--corpus", f"{folder}/corpus", "--json"]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    summary = next(line for line in map(json.loads, out.splitlines()) if line["type"] == "summary")
    return summary["fingerprint"], summary["deliveries"] / seconds

ratios = {"release": [], "dist": []}
for protocol, runs in campaigns.items():
    best, outcomes = dict.fromkeys(programs, 0.0), {}
    for _ in range(5):
        for name, place in programs.items():
            outcomes[name], speed = campaign(place, protocol, runs)
            best[name] = max(best[name], speed)
    figures = ", ".join(f"{name} {best[name] / 1e6:.2f}" for name in programs)
    same = len(set(outcomes.values())) == 1
    print(f"build-time: {protocol}: million deliveries per CPU second: {figures}{'' if same else ' (other runs, not counted)'}", flush=True)
    if same:
        for name in ratios:
            ratios[name].append(best[name] / best["base"])
means = {name: math.exp(sum(map(math.log, own)) / len(own)) for name, own in ratios.items()}
for name, least in (("release", 0.85), ("dist", 1.0)):
    print(f"build-time: {name} has {means[name]:.2f} of the speed before (geometric mean of {len(ratios[name])}), at least {least}")
sys.exit(means["release"] < 0.85 or means["dist"] < 1.0)
PY
}

new() {
    local name before now
    for name in base head; do
        build "$name" release
        mkdir "$folder/new-$name"
        (cd "$folder/new-$name" && "$folder/$name/target/release/turncoat" new demo >/dev/null && cd demo && cargo fetch --quiet)
    done
    before=$(cd "$folder/new-base/demo" && cost cpu cargo test --offline)
    now=$(cd "$folder/new-head/demo" && cost cpu cargo test --offline)
    compare "turncoat new, cargo test (CPU s)" "$before" "$now" most 0.25
}

tests() {
    local before now
    before=$(cd "$folder/base" && cost cpu cargo test --workspace --locked)
    rm -rf "$folder/base/target/debug"
    now=$(cd "$folder/head" && cost cpu cargo test --workspace --locked)
    compare "cargo test --workspace (CPU s)" "$before" "$now" most 0.7
}

for part in $parts; do
    case $part in
    first | speed | new | tests) "$part" ;;
    *) echo "build-time: no part $part: first, speed, new or tests" >&2 && exit 2 ;;
    esac
done
exit "$failed"
