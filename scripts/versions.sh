#!/usr/bin/env bash
# Runs the programs that state what they do under all MPI libraries that scripts/kin.sh knows, and writes what became of them into
# docs/explanation/tested.md, between the lines `<!-- versions -->` and `<!-- end -->`.   usage: scripts/versions.sh [FOLDER OF LIBRARIES]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh
. scripts/kin.sh
need_rust
folder=${1-$PWD/target/versions}
fetch_kin "$folder" --all || { echo "versions.sh: not all libraries can be had" >&2; exit 1; }
outcomes=$(mktemp)
trap 'rm -f "$outcomes"' EXIT
cargo build --release
failed=0
COMMSEE_KIN=$folder COMMSEE_VERSIONS=$outcomes cargo test --release -p commsee --test profiled -- \
    --ignored what_a_library_runs_by_itself || failed=$?
python3 - "$outcomes" <<'PYTHON'
import collections, datetime, re, sys

names = {"intel": "Intel MPI", "mpich": "MPICH", "openmpi": "Open MPI"}
runs = collections.defaultdict(lambda: collections.defaultdict(list))
for line in open(sys.argv[1]):
    library, program, outcome = line.split()
    runs[library][outcome].append(f"`{program}`")
order = lambda library: (library.split("-")[0], [int(part) for part in re.findall(r"\d+", library)])
rows = ["", f"Run on {datetime.date.today().isoformat()} by `scripts/versions.sh`:", "",
        "| library | version | counted exactly | fails without commsee, too | not exact |", "|---|---|---|---|---|"]
for library in sorted(runs, key=order):
    name, version = library.split("-", 1)
    of = runs[library]
    total = sum(map(len, of.values()))
    cells = [", ".join(of[outcome]) or "none" for outcome in ("fails", "differs")]
    rows.append(f"| {names[name]} | {version} | {len(of['exact'])} of {total} | {cells[0]} | {cells[1]} |")
page = "docs/explanation/tested.md"
text = open(page).read()
begin, rest = text.split("<!-- versions -->\n", 1)
end = rest[rest.index("<!-- end -->"):]
open(page, "w").write(begin + "<!-- versions -->\n" + "\n".join(rows) + "\n\n" + end)
PYTHON
exit "$failed"
