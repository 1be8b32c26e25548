# What the control scripts share: campaigns in which nothing may be found, one row each. To be sourced, from the root of
# the repository, with the scale in $1.

export LC_ALL=C
scale=${1:-1}
. checks/programs.bash
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
total=0

# The number (or word) that belongs to a key of the last summary.
value() {
    sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$summary"
}

fail() {
    echo "FAILED $cell: $1"
    failed=1
}

# scaled RUNS LEAST: what the scale makes of RUNS, but not less than LEAST.
scaled() {
    echo $(($1 / scale > $2 ? $1 / scale : $2))
}

# heading: the names of the columns.
heading() {
    printf '%-44s %9s %10s %12s %12s %8s\n' campaign runs violating 'faults/run' mutations seconds
}

# campaign CELL RUNS PROTOCOL OPTION...: one campaign, one row.
campaign() {
    cell=$1
    local runs=$2 code=0
    shift 2
    (cd "$folder" && "$turncoat" fuzz "$@" --runs "$runs" --until never --json) \
        >"$folder/out" 2>"$folder/log" || code=$?
    summary=$(tail -n 1 "$folder/out")
    if [ "$code" -gt 1 ] || [ "$(value runs)" != "$runs" ]; then
        cat "$folder/log"
        fail "exit code $code, $(value runs) runs"
        return
    fi
    total=$((total + runs))
    printf '%-44s %9d %10d %12.2f %12d %8.1f\n' \
        "$cell" "$runs" "$(value violating)" "$(share faults "$runs")" "$(value mutations)" "$(value seconds)"
    if [ "$(value violating)" != 0 ]; then
        fail "$(grep -o '"violations":{[^}]*}' <<<"$summary")"
        cat "$folder"/turncoat-corpus/*.toml
        rm -rf "$folder/turncoat-corpus"
    fi
}

# byzzfuzz NAME RUNS OPTION...: 0 to 2 lies, 0 to 2 partitions, lies of small and of any scope, so many runs of each. Partitions
# hold messages back in half of the campaigns and lose them in the others, unless an option says otherwise.
byzzfuzz() {
    local name=$1 runs=$2 scope c d loss
    shift 2
    for scope in small any; do
        for c in 0 1 2; do
            for d in 0 1 2; do
                loss=$([ $(((c + d) % 2)) = 0 ] && echo hold || echo drop)
                campaign "$name, byzzfuzz, c=$c, d=$d, scope=$scope" "$(scaled "$runs" 1)" --strategy byzzfuzz \
                    --set "c=$c" --set "d=$d" --set r=12 --set "scope=$scope" --set "network.loss=$loss" "$@"
            done
        done
    done
}

# share KEY RUNS: the count per run, with two digits.
share() {
    local hundredths=$(($(value "$1") * 100 / $2))
    printf '%d.%02d' $((hundredths / 100)) $((hundredths % 100))
}

# exercised MARK...: each of these was done in more than 1 % of the runs of the last campaign.
exercised() {
    local mark count
    for mark in "$@"; do
        count=$(value "$mark")
        printf '    %-40s %9d\n' "$mark" "$count"
        if [ $((count * 100)) -le "$(value runs)" ]; then
            fail "$mark in $count of $(value runs) runs: not above 1 %"
        fi
    done
}

# conclude NAME: the last line, and the exit code.
conclude() {
    echo "$1: $total runs, $([ "$failed" = 0 ] && echo 'nothing found, as it should be' || echo FAILED)"
    exit "$failed"
}
