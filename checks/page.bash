# Tables of docs/results that a script under checks/ prints: each stands between `<!-- checks/NAME.sh -->` and `<!-- end -->`, below a
# digest of what a short form of it came to. To be sourced, from the root of the repository.

# put_table PAGE TABLE DIGEST: puts the table in the file TABLE into the page.
put_table() {
    awk -v name="<!-- checks/$(basename "$0") -->" -v digest="<!-- digest $3 -->" -v table="$2" '
        $0 == name { print; print digest; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1 }
        /^<!-- end -->$/ { skip = 0 }
        !skip' "$1" >"$folder/page"
    cp "$folder/page" "$1"
}

# fresh_table PAGE DIGEST: whether the page has this digest below the name of the script.
fresh_table() {
    grep -A1 -xF -- "<!-- checks/$(basename "$0") -->" "$1" | grep -qxF -- "<!-- digest $2 -->" && return
    echo "FAILED, $1 has a stale table: print it again ($0 --write)"
    return 1
}
