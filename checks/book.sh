#!/usr/bin/env bash
# The README and the book are true: commands print what they say, quoted code is in the repository, links lead somewhere.
#
#   checks/book.sh                      compares all pages
#   checks/book.sh --write              puts into the pages what the commands print now
#   checks/book.sh [--write] PAGE...    the same for some pages; links are checked in all
#
# Blocks of a page, by the word behind the fence:
#   console     commands, each after `$ `, with their output: all of it, or its first lines, `...` and its last lines. A
#               command without output is not run. Each page starts with an empty corpus; times are not compared.
#   rust, toml  a part of some file of the repository, up to indentation; a line `// ...` or `# ...` stands for other lines
#   text, sh, json, yaml   neither run nor compared
# A comment `<!-- all of FILE -->` promises that the page quotes every line of that file. `cargo run --features cli --` is what
# the crate types that readers of the tutorial make: here it is the example `decree`.
#
# docs/reference/commands.md has every command and every option, docs/SUMMARY.md every page.
#
# Set TURNCOAT to the folder of programs and examples that are built already, to build none. If mdBook is installed, the book is
# built too.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${TURNCOAT:-}" ]; then
    programs=$(realpath "$TURNCOAT")
else
    . checks/programs.bash
    case ${PROFILE:-release} in
    release) cargo build --quiet --release -p turncoat --features cli --examples ;;
    # As checks/new.sh has built it.
    dev) cargo test --quiet --workspace --features demo/cli --no-run ;;
    esac
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Where cargo would put the program of the reader's crate, so that it names itself as there.
mkdir "$folder/debug"
ln -s "$programs/examples/decree" "$folder/debug/mine"

failed=0
PROGRAMS=$programs FOLDER=$folder python3 - "$@" <<'PYTHON' || failed=1
import difflib, os, re, subprocess, sys
from pathlib import Path

programs, folder = Path(os.environ["PROGRAMS"]), Path(os.environ["FOLDER"])
write = "--write" in sys.argv[1:]
chosen = [name for name in sys.argv[1:] if name != "--write"]
tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
tracked = [name for name in tracked if name and Path(name).exists()]
markdown = [name for name in tracked if name.endswith(".md")]
pages = [name for name in markdown if name == "README.md" or name.startswith("docs/")]
README_BYTES = 8192
failures = 0


def fail(page, line, what):
    global failures
    failures += 1
    print(f"book: FAILED, {page}:{line}: {what}", file=sys.stderr)


# -- Quotations ----------------------------------------------------------------------------------------------------------

def stripped(text):
    return "\n".join(line.strip() for line in text.strip("\n").split("\n"))


sources = {}


def is_quoted(block, suffix):
    """Whether the parts of a block, between lines `// ...` or `# ...`, are in one file."""
    if suffix not in sources:
        names = [name for name in tracked if name.endswith(suffix) and not name.startswith("docs/book")]
        sources[suffix] = ["\n" + stripped(Path(name).read_text()) + "\n" for name in names]
    parts = [stripped(part) for part in re.split(r"^\s*(?://|#) \.\.\.$", block, flags=re.M)]
    return any(all("\n" + part + "\n" in source for part in parts) for source in sources[suffix])


def check_whole(page, lines):
    """A page that promises a whole file leaves none of its lines out."""
    quoted = set()
    for start, end, kind in blocks(lines):
        if kind.split(",")[0] in ("rust", "toml"):
            quoted.update(line.strip() for line in lines[start + 1:end])
    for number, line in enumerate(lines, 1):
        promised = re.fullmatch(r"<!-- all of (\S+) -->", line)
        for missing in Path(promised[1]).read_text().split("\n") if promised else ():
            if missing.strip() and missing.strip() not in quoted:
                fail(page, number, f"{promised[1]} has another line: {missing}")


# -- Commands ------------------------------------------------------------------------------------------------------------

def as_built(command):
    """The same without building anything."""
    command = re.sub(r"cargo run --release -p turncoat-cli (--features [a-z,]+ )?--", "turncoat", command)
    command = re.sub(r"cargo run --features cli --", f"CARGO=cargo {folder}/debug/mine", command)
    return re.sub(r"cargo run --release -p turncoat --example ", f"{programs}/examples/", command)


def place(page):
    """A folder that looks like the repository, with an empty corpus: what commands leave behind goes with it."""
    here = folder / page.replace("/", "_")
    here.mkdir()
    for entry in Path.cwd().iterdir():
        if entry.name not in ("turncoat-corpus", "target", ".git"):
            (here / entry.name).symlink_to(entry)
    return here


def run(command, here):
    print(f"book: {command}", file=sys.stderr)
    path = f"{programs}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", as_built(command)], cwd=here, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    return done.stdout.rstrip("\n").split("\n"), done.stderr.strip()


def console(page, number, block, here):
    """The block with what its commands print now."""
    parts, result = [], []
    for line in block:
        if line.startswith("$ "):
            parts.append((line, []))
        elif parts:
            parts[-1][1].append(line)
        else:
            fail(page, number, "a console block starts with `$ ` and a command")
            return block
    for command, said in parts:
        result.append(command)
        if not said:
            continue
        now, complaint = run(command[2:], here)
        if now == [""]:
            fail(page, number, f"`{command[2:]}` prints nothing: {complaint}")
            result += said
        elif "..." in said:
            first, last = said.index("..."), len(said) - 1 - said.index("...")
            result += now[:first] + ["..."] + now[len(now) - last:]
        else:
            result += now
    return [line.rstrip() for line in result]


def without_times(line):
    line = re.sub(r" in [0-9.]+ m?s\b.*", " in ...", line)
    line = re.sub(r" ?\([0-9.]+ m?s(, |\))", " (", line)
    return re.sub(r"[0-9.]+( [kMG])? (runs|deliveries)/s", "... /s", line)


# -- Pages ---------------------------------------------------------------------------------------------------------------

FENCE = re.compile(r"^(```+)(.*)$")
FREE = {"text", "sh", "json", "yaml"}


def blocks(lines):
    """Yields the start, the end and the kind of each fenced block; the lines in between are its content."""
    start = kind = mark = None
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if start is None and fence:
            start, mark, kind = number, fence[1], fence[2].strip()
        elif start is not None and line.rstrip() == mark:
            yield start, number, kind
            start = None


def check_page(page):
    lines = Path(page).read_text().split("\n")
    result, done, here = [], 0, None
    for start, end, kind in blocks(lines):
        result += lines[done:start + 1]
        block = lines[start + 1:end]
        word = kind.split(",")[0]
        if word == "console":
            here = here or place(page)
            now = console(page, start + 1, block, here)
            if [without_times(line) for line in now] != [without_times(line) for line in block] and not write:
                fail(page, start + 1, "commands print other lines (+) than the page says (-)")
                diff = difflib.unified_diff(block, now, "page", "now", lineterm="", n=1)
                print("\n".join(diff), file=sys.stderr)
            block = now if write else block
        elif word in ("rust", "toml"):
            if not is_quoted("\n".join(block), "." + {"rust": "rs"}.get(word, word)):
                fail(page, start + 1, f"this {word} block is in no file of the repository; mark it as text if it is not a quotation")
        elif word not in FREE:
            fail(page, start + 1, f"a block is console, rust, toml, text, sh, json or yaml, not `{kind}`")
        result += block
        done = end
    result += lines[done:]
    check_whole(page, lines)
    if write and result != lines:
        Path(page).write_text("\n".join(result))


# -- Links ---------------------------------------------------------------------------------------------------------------

def prose(page):
    """The lines of a page outside of fenced blocks, with inline code blanked."""
    lines = Path(page).read_text().split("\n")
    for start, end, _ in list(blocks(lines)):
        lines[start:end + 1] = [""] * (end + 1 - start)
    return lines


def slug(title):
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    title = re.sub(r"[`*]", "", title).strip().lower()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def anchors(page):
    found = {}
    for line in prose(page):
        title = re.match(r"#{1,6} (.*)", line)
        if title:
            name = slug(title[1])
            found[name] = found.get(name, -1) + 1
        for name in re.findall(r'<a (?:id|name)="([^"]+)"', line):
            found[name] = 0
    return {name if i == 0 else f"{name}-{i}" for name, count in found.items() for i in range(count + 1)}


LINK = re.compile(r"\]\(<?([^)>\s]+)>?(?: \"[^\"]*\")?\)|(?:href|src|srcset)=\"([^\"]+)\"")


def check_links(page):
    for number, line in enumerate(prose(page), 1):
        line = re.sub(r"`[^`]*`", "", line)
        for match in LINK.finditer(line):
            link = match[1] or match[2]
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = Path(os.path.normpath(Path(page).parent / path)) if path else Path(page)
            if not target.exists():
                fail(page, number, f"{link}: there is no {target}")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                fail(page, number, f"{link}: {target} has no heading `{anchor}`")


# -- The reference -------------------------------------------------------------------------------------------------------

REFERENCE = "docs/reference/commands.md"


def check_reference(words=()):
    """Each command and each option of it is in the reference."""
    said = subprocess.run([programs / "turncoat", *words, "--help"], capture_output=True, text=True).stdout
    text = Path(REFERENCE).read_text()
    name = " ".join(words)
    if f"`{name}" not in text and words:
        fail(REFERENCE, 1, f"the command `{name}` is missing")
    for option in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", said, re.M):
        if option not in ("--help", "--version") and option not in text:
            fail(REFERENCE, 1, f"`{option}` of `turncoat {name}` is missing")
    usage, _, rest = said.partition("Usage:")[2].partition("\n")
    commands = rest.split("\nOptions:")[0] if "COMMAND" in usage + rest.split("\n")[0] else ""
    for command in re.findall(r"^  ([a-z]+)  +[A-Z]", commands, re.M):
        if command != "help" and len(words) < 2:
            check_reference((*words, command))


check_reference()
for page in markdown:
    check_links(page)
summary = Path("docs/SUMMARY.md").read_text()
for page in pages:
    inside = page.removeprefix("docs/")
    if page.startswith("docs/") and inside != "SUMMARY.md" and f"({inside})" not in summary:
        fail("docs/SUMMARY.md", 1, f"{inside} is not listed")
size = Path("README.md").stat().st_size
if size > README_BYTES:
    fail("README.md", 1, f"it has {size} bytes; at most {README_BYTES} keep it a front door")
for page in chosen or pages:
    check_page(page)
sys.exit(1 if failures else 0)
PYTHON

if command -v mdbook >/dev/null; then
    mdbook build docs -d "$folder/book" >"$folder/mdbook.log" 2>&1 || { cat "$folder/mdbook.log" && failed=1; }
fi
[ "$failed" = 1 ] || echo 'book: true'
exit "$failed"
