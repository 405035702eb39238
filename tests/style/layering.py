#!/usr/bin/env python3
"""Checks who includes whom.

1. A folder includes only folders that LAYERS allows it (no upward include).
2. A third-party library is reachable, through any chain of our headers, only from the folders that own it: no Qt below
   ui/, no torch, CUPTI or SQLite visible outside its own target.

usage: layering.py ROOT        exit 1 and one line per offence
       layering.py --self-test
"""
import pathlib
import re
import sys
import tempfile

LAYERS = {
    "core/base": [],
    "core/model": ["core/base"],
    "core/config": ["core/model", "core/base"],
    "core/predict": ["core/model", "core/base"],
    "core/machine": ["core/model", "core/base"],
    "core/store": ["core/analysis", "core/model", "core/base"],
    "core/analysis": ["core/model", "core/base"],
    "core/query": ["core/predict", "core/config", "core/store", "core/analysis", "core/model", "core/base"],
    "core/report": ["core/config", "core/exchange", "core/query", "core/store", "core/analysis", "core/model", "core/base"],
    "core/exchange": ["core/predict", "core/query", "core/store", "core/analysis", "core/model", "core/base"],
    "core/trace": ["core/model", "core/base"],
    "kernels": [],
    "core/engine": ["core/trace", "kernels", "core/model", "core/base"],
    "core/session": ["core/predict", "core/analysis", "core/config", "core/store", "core/machine", "core/model", "core/base"],
    "ui": ["core/predict", "core/query", "core/analysis", "core/exchange", "core/session", "core/config", "core/machine",
           "core/model", "core/base"],
    "app/cli": ["core/*"],
    "app/engine": ["core/*"],
    "app/gui": ["core/*", "ui"],
}

# Library -> (pattern of its headers, folders that may reach it).
LIBRARIES = {
    "torch": (r"(torch|ATen|c10)/", ["core/trace", "core/engine", "kernels"]),
    "CUPTI": (r"(cupti|generated_cuda_)", ["core/trace"]),
    "CUDA": (r"(cuda|nvtx3|nvml|driver_types|cuda_runtime)", ["core/trace", "core/engine", "kernels"]),
    "SQLite": (r"(sqlite3\.h|SQLiteCpp/)", ["core/store"]),
    "yaml-cpp": (r"yaml-cpp/", ["core/config", "core/analysis"]),
    "Qt": (r"(Q[A-Z]\w*|Qt\w*/.*|qcustomplot\.h)$", ["ui", "app/gui"]),
}
# What only one target of a folder may see, by the folder of the including file.
APP_ENGINE_ONLY_PLAIN = {"app/cli": ["core/trace", "core/engine"], "app/gui": ["core/trace", "core/engine"]}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
SUFFIXES = {".h", ".hpp", ".cpp", ".cu", ".cuh"}


def folder_of(path):
    parts = path.split("/")
    if parts[0] in ("core", "app") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0] if parts[0] in ("kernels", "ui") else None


def read_tree(root):
    files = {}
    for top in ("core", "app", "kernels", "ui"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                files[path.relative_to(root).as_posix()] = [name for _, name in INCLUDE.findall(text)]
    return files


def resolve(name, includer, files):
    """The file of ours that an include names, or None for somebody else's."""
    if name in files:
        return name
    beside = (pathlib.PurePosixPath(includer).parent / name).as_posix()
    return beside if beside in files else None


def allowed(folder, target):
    return any(target == a or (a.endswith("*") and target.startswith(a[:-1])) for a in LAYERS[folder])


def offences(files):
    found = []
    reach = {}

    def libraries_of(path, chain):
        """Libraries reachable from a file, each with the chain of files that leads there."""
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
        folder = folder_of(path)
        if folder is None:
            continue
        if folder not in LAYERS:
            found.append(f"{path}: folder {folder} has no layer; add it to LAYERS with what it may know")
            continue
        for name in names:
            ours = resolve(name, path, files)
            target = folder_of(ours) if ours else None
            if target and target != folder:
                if not allowed(folder, target) or target in APP_ENGINE_ONLY_PLAIN.get(folder, []):
                    found.append(f"{path}: includes {ours}, but {folder} may not know {target}")
        for library, via in libraries_of(path, []).items():
            if folder not in LIBRARIES[library][1]:
                found.append(f"{path}: sees {library} through {' > '.join(via[1:])}")
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        tree = {
            "core/base/a.h": "#include <string>\n",
            "core/model/up.h": '#include "core/store/s.h"\n',
            "core/store/s.h": "#include <sqlite3.h>\n",
            "core/query/q.cpp": '#include "core/store/s.h"\n',
            "core/base/q.h": "#include <QString>\n",
            "ui/w.h": '#include <QWidget>\n#include "core/base/a.h"\n',
        }
        for path, text in tree.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        found = offences(read_tree(root))
        expected = ["core/base/q.h: sees Qt", "core/model/up.h: includes core/store/s.h", "core/model/up.h: sees SQLite",
                    "core/query/q.cpp: sees SQLite"]
        missing = [e for e in expected if not any(f.startswith(e) for f in found)]
        extra = [f for f in found if not any(f.startswith(e) for e in expected)]
        assert not missing and not extra, f"missing {missing}, extra {extra}"
    print("layering self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    files = read_tree(pathlib.Path(sys.argv[1]))
    if not files:
        sys.exit(f"{sys.argv[1]}: no sources found")
    found = offences(files)
    for line in found:
        print(line)
    print(f"{len(files)} files, {len(found)} offences")
    sys.exit(1 if found else 0)


main()
