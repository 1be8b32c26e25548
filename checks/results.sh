#!/usr/bin/env bash
# The tables in docs/results are what the commands print: each stands between a comment with its command and `<!-- end -->`.
#
#   checks/results.sh              runs every command in full and compares; most of the time goes into the hunt
#   checks/results.sh --write      puts what they print now into the pages
#   checks/results.sh SCALE        runs them with 1/SCALE of the runs; controls must be clean, and no table may be stale
#   checks/results.sh digest       asks only whether a table is stale
#
# Below the command of a table stands a digest of what the first runs of each of its campaigns came to when it was printed. A
# table whose command has another digest now is stale: the program does something else by now.
#
# A second argument leaves out commands in which it does not occur: checks/results.sh --write experiment
#
# Tables of an engine with a program of its own are left out where that is not built: `checks/commonware.sh` builds it and asks for them.
#
# In every form no run of a control violates anything, or is suspected of never deciding. Real time, after a `~`, may differ.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
mode=${1:-compare}
only=${2:-}

. checks/programs.bash
PATH=$programs:$PWD/engines/commonware/target/release:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# run COMMAND: what it prints. In full it has as many runs as it says last, or 10,000. The hunt is for the full form alone:
# runs that do not terminate take long.
run() {
    local runs=10000
    [[ $1 != *' --runs '* ]] || runs=${1##*' --runs '}
    case $mode in
    compare | --write) bash -c "$1" ;;
    digest) ;;
    *) [[ $1 == *hunt* ]] || bash -c "${1%' --runs '*} --runs $((runs < mode ? 1 : runs / mode))" ;;
    esac
}

# clean TABLES: after a line that names the control, all counts of its table are 0. Where a table is about liveness, those
# of unsafe and of suspected runs are; Sync HotStuff only promises that within its model.
clean() {
    awk -F'|' '
        /^hotstuff[a-z-]*, the control, runs of/ { live = "[a-z]" }
        /^sync-hotstuff, the control in the rows within the model, runs of/ { live = "within the model" }
        /^$/ { if (lines) live = lines = "" }
        live && /^\| [^|]*[a-z]/ {
            lines = 1
            if ($2 ~ live) for (i = 4; i <= 14; i++)
                if ((i == 4 || (i >= 8 && i != 13)) && $i + 0 != 0) { print "FAILED, not clean:", $0; bad = 1 }
        }
        /^[a-z0-9.-]*, the control.*violating runs of/ { control = 1 }
        /^$/ { if (rows) control = rows = 0 }
        control && /^\| [^|]*[a-z]/ { rows++; for (i = 3; i <= NF - 4; i++) if ($i + 0 != 0) { print "FAILED, not clean:", $0; bad = 1 } }
        END { exit bad }' <<<"$1"
}

# timeless PAGE: the page without real times.
timeless() {
    sed -E 's/~[0-9]+\.[0-9]+/~/g' "$1"
}

for page in docs/results/*.md; do
    skip=no
    while IFS= read -r line; do
        case $line in
        '<!-- turncoat'*"$only"*)
            command=${line#'<!-- '} && command=${command%' -->'}
            if ! type "${command%% *}" >"$folder/log" 2>&1; then
                echo "results: left out, ${command%% *} is not built: $command" >&2
                echo "$line"
                continue
            fi
            echo "results: $command" >&2
            now=$(run "$command" 2>"$folder/log") || { cat "$folder/log" >&2 && failed=1; }
            clean "$now" >&2 || failed=1
            digest=$(bash -c "$command --digest" 2>"$folder/log") || { cat "$folder/log" >&2 && failed=1; }
            printf '%s\n<!-- digest %s -->\n\n%s\n\n' "$line" "$digest" "$now"
            skip=yes
            dated=no
            ;;
        '<!-- digest '*)
            dated=yes
            if [ "$skip" = yes ] && [ "$mode" != --write ] && [ "$line" != "<!-- digest $digest -->" ]; then
                echo "results: FAILED, $page has a stale table: print \`$command\` again (--write)" >&2
                failed=1
            fi
            [ "$skip" = yes ] || echo "$line"
            ;;
        '<!-- end -->')
            if [ "$skip" = yes ] && [ "$dated" = no ] && [ "$mode" != --write ]; then
                echo "results: FAILED, $page has a table without a digest: print \`$command\` again (--write)" >&2
                failed=1
            fi
            skip=no && echo "$line"
            ;;
        *) [ "$skip" = yes ] || echo "$line" ;;
        esac
    done <"$page" >"$folder/page"
    case $mode in
    --write) cp "$folder/page" "$page" ;;
    compare)
        if ! diff <(timeless "$page") <(timeless "$folder/page"); then
            echo "results: FAILED, commands print other lines (>) than $page has (<); --write puts them in"
            failed=1
        fi
        ;;
    esac
done
[ "$failed" = 1 ] || echo 'results: as they should be'
exit "$failed"
