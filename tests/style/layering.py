#!/usr/bin/env python3
"""Checks which folders include which.

1. A folder includes only what the table "folder | contents | may include | order" of CONTRIBUTING.md allows it: other folders, and
   of its own sub-folders those that come before.
2. A third-party library is reachable, through any chain of our headers, only from the folders that own it: no Qt below
   ui/, no torch, CUPTI or SQLite visible outside its own target.

usage: layering.py ROOT        exit 1 and one line per offence
       layering.py --self-test
"""
import pathlib
import re
import sys
import tempfile

# Library -> (pattern of its headers, folders that may reach it).
LIBRARIES = {
    "torch": (r"(torch|ATen|c10)/", ["app/plugin", "core/trace", "core/engine", "kernels"]),
    "CUPTI": (r"(cupti|generated_cuda_)", ["core/trace", "app/record"]),
    "CUDA": (r"(cuda|nvtx3|nvml|driver_types|cuda_runtime)",
             ["core/trace", "core/engine", "app/record", "kernels", "kernels/cuda", "kernels/cuda/common", "kernels/cuda/decode", "kernels/cuda/lm", "kernels/cuda/mma", "kernels/cuda/ranks", "kernels/cuda/hopper"]),
    "SQLite": (r"(sqlite3\.h|SQLiteCpp/)", ["core/store"]),
    "yaml-cpp": (r"yaml-cpp/", ["core/config", "core/analysis"]),
    "simdjson": (r"simdjson", ["core/exchange"]),
    "protozero": (r"protozero/", ["core/exchange"]),
    "zlib": (r"zlib\.h", ["core/exchange"]),
    "Qt": (r"(Q[A-Z]\w*|Qt\w*/.*|qcustomplot\.h)$", ["ui", "app/gui"]),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}


def read_table(text):
    """Folder -> (folders that it may include, level of each of its sub-folders)."""
    layers = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != 4 or not re.fullmatch(r"`[a-z/]+`", cells[0]):
            continue
        levels = {}
        for level, peers in enumerate(cells[3].split("<")):
            for name in re.findall(r"`([^`]+)`", peers):
                levels[name] = level
        layers[cells[0].strip("`")] = (re.findall(r"`([^`]+)`", cells[2]), levels)
    return layers


def place_of(path, layers):
    """The table's folder that contains a file, and its sub-folder; `.` for files directly in the folder."""
    parts = path.split("/")
    for length in (3, 2, 1):
        folder = "/".join(parts[:length])
        if folder in layers:
            return folder, parts[length] if len(parts) > length + 1 else "."
    return None, None


def read_tree(root):
    files = {}
    for top in ("core", "app", "kernels", "ui"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                files[path.relative_to(root).as_posix()] = [name for _, name in INCLUDE.findall(text)]
    return files


def resolve(name, includer, files):
    """The project file that an include names, or None for other headers."""
    if name in files:
        return name
    beside = (pathlib.PurePosixPath(includer).parent / name).as_posix()
    return beside if beside in files else None


def comes_before(levels, sub, other):
    last = max(levels.values(), default=0) + 1
    return levels.get(other, last if other == "." else -1) < levels.get(sub, last)


def offences(files, layers):
    found = []
    reach = {}

    def libraries_of(path, chain):
        """Libraries reachable from a file, each with the chain of includes that leads to it."""
        if path in reach:
            return reach[path]
        reach[path] = {}
        result = {}
        for name in files[path]:
            ours = resolve(name, path, files)
            if ours:
                for library, via in libraries_of(ours, chain + [path]).items():
                    result.setdefault(library, [path] + via)
            else:
                for library, (pattern, _) in LIBRARIES.items():
                    if re.match(pattern, name):
                        result.setdefault(library, [path, f"<{name}>"])
        reach[path] = result
        return result

    for path, names in files.items():
        folder, sub = place_of(path, layers)
        if folder is None:
            found.append(f"{path}: its folder is not in the table of CONTRIBUTING.md; add it with what it may include")
            continue
        may_include, levels = layers[folder]
        if sub != "." and sub not in levels:
            found.append(f"{path}: {folder} has no sub-folder {sub} in the table of CONTRIBUTING.md")
        for name in names:
            ours = resolve(name, path, files)
            target, target_sub = place_of(ours, layers) if ours else (None, None)
            if not target:
                continue
            if target != folder and target not in may_include:
                found.append(f"{path}: includes {ours}, but {folder} may not include {target}")
            if target == folder and target_sub != sub and not comes_before(levels, sub, target_sub):
                found.append(f"{path}: includes {ours}, but {target_sub} does not come before {sub} in {folder}")
        for library, via in libraries_of(path, []).items():
            if folder not in LIBRARIES[library][1]:
                found.append(f"{path}: sees {library} through {' > '.join(via[1:])}")
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        tree = {
            "core/base/a.h": "#include <string>\n",
            "core/model/up.h": '#include "core/store/file/s.h"\n',
            "core/store/file/s.h": "#include <sqlite3.h>\n",
            "core/store/file/root.h": '#include "core/store/reader.h"\n',
            "core/store/rows/r.h": '#include "core/store/file/s.h"\n#include "core/store/peer/p.h"\n',
            "core/store/peer/p.h": "",
            "core/store/reader.h": '#include "core/store/rows/r.h"\n',
            "core/store/odd/o.h": "",
            "core/query/q.cpp": '#include "core/store/file/s.h"\n',
            "core/base/q.h": "#include <QString>\n",
            "core/new/n.h": "",
            "core/store/own/o.h": '#include "core/store/reader.h"\n',
            "ui/w.h": '#include <QWidget>\n#include "core/base/a.h"\n',
        }
        table = """
| folder | contents | may include | order |
|---|---|---|---|
| `core/base` | x | | |
| `core/model` | x | `core/base` | |
| `core/store` | x | `core/model` `core/base` | `file` < `rows`, `peer` |
| `core/store/own` | x | `core/base` | |
| `core/query` | x | `core/store` | |
| `ui` | x | `core/base` | |
"""
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = offences(read_tree(root), read_table(table))
        expected = ["core/base/q.h: sees Qt", "core/model/up.h: includes core/store/file/s.h", "core/model/up.h: sees SQLite",
                    "core/query/q.cpp: sees SQLite", "core/new/n.h: its folder", "core/store/odd/o.h: core/store has no sub-folder odd",
                    "core/store/own/o.h: includes core/store/reader.h", "core/store/own/o.h: sees SQLite",
                    "core/store/file/root.h: includes core/store/reader.h", "core/store/rows/r.h: includes core/store/peer/p.h"]
        missing = [e for e in expected if not any(f.startswith(e) for f in found)]
        extra = [f for f in found if not any(f.startswith(e) for e in expected)]
        assert not missing and not extra, f"missing {missing}, extra {extra}"
    print("layering self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(sys.argv[1])
    layers = read_table((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    files = read_tree(root)
    if not files or not layers:
        sys.exit(f"{root}: no sources found" if layers else f"{root}/CONTRIBUTING.md: no table of folders found")
    found = offences(files, layers)
    for line in found:
        print(line)
    print(f"{len(files)} files, {len(found)} offences")
    sys.exit(1 if found else 0)


main()
