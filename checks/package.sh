#!/usr/bin/env bash
# The crates can be published: their manifests are complete, each package builds on its own, no dependency needs a newer Rust
# than we promise, and cargo-deny accepts all of them.
#
#   checks/package.sh [--short]
#
# A package holds the files below its crate's folder and nothing else of the repository. So each file that its sources embed must be
# in it; files from elsewhere are links. The full form builds every package outside of the workspace, which takes several
# minutes. --short builds none. Packages and their builds are in target/publish.
#
# deny.toml says which dependencies are accepted. Without cargo-deny that part is skipped, and so are security advisories in
# the short form and where their database cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-full}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/publish

case $mode in
--short) how=(--no-verify --offline) ;;
full) how=() ;;
*) echo "package: FAILED, no mode $mode" && exit 1 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Of all platforms: downloads the dependencies that are not here yet.
cargo metadata --quiet --locked --format-version 1 >"$folder/metadata.json"

# The template of `turncoat new` is part of turncoat-cli. Packages are made from the files as they are, committed or not.
rm -rf "$target/package"
cargo package --workspace --exclude demo --locked --allow-dirty "${how[@]}" --target-dir "$target" >"$folder/log" 2>&1 ||
    { cat "$folder/log" && echo "package: FAILED, see above" && exit 1; }

python3 - "$folder/metadata.json" "$target/package" <<'PYTHON'
import json, posixpath, re, sys, tarfile
from pathlib import Path

metadata = json.loads(Path(sys.argv[1]).read_text())
packages = {package["id"]: package for package in metadata["packages"]}
members = [packages[id] for id in metadata["workspace_members"]]
ours = [package for package in members if package["name"] != "demo" and package["publish"] != []]
failures = 0


def fail(what):
    global failures
    failures += 1
    print(f"package: FAILED, {what}")


def version(text):
    return tuple(int(part) for part in (text or "0").split("."))


# -- Manifests -----------------------------------------------------------------------------------------------------------

for package in ours:
    name = package["name"]
    for key in ("description", "license", "readme", "rust_version", "keywords", "categories"):
        if not package[key]:
            fail(f"{name} has no {key.replace('_', '-')}")
    if len(package["keywords"]) > 5 or len(package["categories"]) > 5:
        fail(f"{name} has more than 5 keywords or categories")
cited = re.search(r"^version: (\S+)$", Path("CITATION.cff").read_text(), re.M)
if cited is None or {package["version"] for package in ours} != {cited[1]}:
    fail("CITATION.cff has another version than the crates")

# -- Rust versions -------------------------------------------------------------------------------------------------------

promised = min((package["rust_version"] for package in ours if package["rust_version"]), key=version, default="0")
for package in packages.values():
    if version(package["rust_version"])[:2] > version(promised)[:2]:
        fail(f"{package['name']} {package['version']} needs Rust {package['rust_version']}, and we promise {promised}")

# -- Contents ------------------------------------------------------------------------------------------------------------

EMBEDDED = re.compile(r"include_(?:str|bytes)!\(\s*\"([^\"]+)\"\s*\)")
FOLDER = re.compile(r"#\[folder = \"([^\"]+)\"\]")
embedded = 0
for package in ours:
    root = f"{package['name']}-{package['version']}"
    with tarfile.open(Path(sys.argv[2]) / f"{root}.crate") as archive:
        files = {member.name: member for member in archive if member.isfile()}
        for name in ("README.md", "LICENSE-MIT", "LICENSE-APACHE"):
            if f"{root}/{name}" not in files:
                fail(f"{root} has no {name}")
        for name in [name for name in files if name.endswith(".rs")]:
            text = archive.extractfile(files[name]).read().decode()
            for path in EMBEDDED.findall(text):
                embedded += 1
                if posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) not in files:
                    fail(f"{name} embeds {path}, which is not in the package")
            for path in FOLDER.findall(text):
                inside = posixpath.normpath(f"{root}/{path}") + "/"
                found = sum(name.startswith(inside) for name in files)
                embedded += found
                if found == 0:
                    fail(f"{name} embeds the folder {path}, which is not in the package")

print(f"package: {len(ours)} crates with {embedded} embedded files; none of {len(packages)} packages asks for more than Rust {promised}")
sys.exit(1 if failures else 0)
PYTHON

if ! command -v cargo-deny >/dev/null; then
    echo 'package: cargo-deny is not installed, dependencies are not checked; `cargo install cargo-deny --locked` installs it'
    exit 0
fi
cargo deny --log-level error --all-features check bans licenses sources
if [ "$mode" = full ]; then
    if cargo deny fetch db >"$folder/log" 2>&1; then
        cargo deny --log-level error --all-features check advisories
    else
        echo 'package: the database of security advisories cannot be fetched, they are not checked'
    fi
fi
