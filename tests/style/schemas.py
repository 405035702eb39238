#!/usr/bin/env python3
"""Checks the schemas of `tilescope show` in resources/schema, whose tests compare them with what the sections print.

Each section has at least one, named show-SECTION or show-SECTION-…, which a test in tests/unit/cli names. Its objects are closed
and require their keys, in order, so that a key that a table gains or loses fails its test; with TILESCOPE_UPDATE set, that test writes the
keys, which then want a description. What two of them say of a key is written once,
in show-common.schema.json. Options of the command line that several verbs have are declared once as well: no two declarations in
app/cli give the same option the same help.

usage: schemas.py ROOT        exit 1 and one line per offence
       schemas.py --self-test
"""
import json
import pathlib
import re
import sys
import tempfile

COMMON = "show-common.schema.json"
SECTION = re.compile(r'\{\.name = "([\w-]+)"')
DECLARED = re.compile(r'\.(?:option|flag|choice|output|repeated|attached)\(\s*"(-[^"]*)",([^;]*)\);')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def objects_of(node):
    """The objects with properties in a schema."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield node
        for value in node.values():
            yield from objects_of(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects_of(value)


def schema_offences(root):
    found = []
    first = {}
    folder = root / "resources/schema"
    for path in sorted(folder.glob("show-*.schema.json")):
        if path.name == COMMON:
            continue
        for node in objects_of(json.loads(path.read_text(encoding="utf-8"))):
            keys = list(node["properties"])
            if node.get("required") != keys or node.get("additionalProperties") is not False:
                found.append(f"{path.name}: an object must require its keys in their order and allow no others: {', '.join(keys)}")
            for key, value in node["properties"].items():
                if "$ref" in value:
                    continue
                if not value.get("description"):
                    found.append(f"{path.name}: {key} has no description")
                other = first.setdefault((key, json.dumps(value, sort_keys=True)), path.name)
                if other != path.name:
                    found.append(f"{path.name}: says of {key} what {other} says; write it once in {COMMON}")
    return found


def test_offences(root):
    tests = "".join(path.read_text(encoding="utf-8") for path in sorted((root / "tests/unit/cli").glob("*")))
    names = [path.name[len("show-"):-len(".schema.json")] for path in sorted((root / "resources/schema").glob("show-*.schema.json"))]
    found = [f"show-{name}.schema.json: no test in tests/unit/cli compares it with the output" for name in names
             if f"show-{name}.schema.json" != COMMON and f'"{name}"' not in tests and f"show-{name}.schema.json" not in tests]
    sections = SECTION.findall((root / "app/cli/show_sections.cpp").read_text(encoding="utf-8"))
    found += [f"app/cli/show_sections.cpp: the section {section} has no resources/schema/show-{section}.schema.json"
              for section in sections if not any(name == section or name.startswith(section + "-") for name in names)]
    return found


def option_offences(root):
    found = []
    first = {}
    for path in sorted((root / "app/cli").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        for match in DECLARED.finditer(text):
            said = "".join(LITERAL.findall(match[2]))
            where = f"{path.name}:{text.count(chr(10), 0, match.start()) + 1}"
            other = first.setdefault((match[1], said), where) if said else where
            if other != where:
                found.append(f"{where}: declares {match[1]} as {other} does; declare it once, in app/cli/shared_options.h")
    return found


def offences(root):
    return schema_offences(root) + test_offences(root) + option_offences(root)


def self_test():
    def closed(**keys):
        return {"type": "array", "items": {"properties": keys, "required": list(keys), "additionalProperties": False}}

    run = {"description": "number of the run", "type": "integer"}
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        for folder in ("resources/schema", "app/cli", "tests/unit/cli"):
            (root / folder).mkdir(parents=True)
        open_schema = closed(run={"$ref": "show-common.schema.json#/$defs/run"}, step={"type": "integer"})
        open_schema["items"]["required"].reverse()
        for section, schema in {"a": closed(run=run), "b": closed(run=run), "b-by-op": open_schema, "common": {"$defs": {"run": run}}}.items():
            (root / f"resources/schema/show-{section}.schema.json").write_text(json.dumps(schema), encoding="utf-8")
        (root / "app/cli/show_sections.cpp").write_text('{.name = "a",\n{.name = "b",\n{.name = "c",', encoding="utf-8")
        (root / "app/cli/one.cpp").write_text('arguments.flag("--force", force, "replace "\n "it");', encoding="utf-8")
        (root / "app/cli/two.cpp").write_text('x.flag("--force", force, "replace it");\nx.flag("--force", force, "go on");', encoding="utf-8")
        (root / "tests/unit/cli/show_test.cpp").write_text('valid({"b"}, "b"); "show-b-by-op.schema.json"', encoding="utf-8")
        found = offences(root)
    expected = ["show-b-by-op.schema.json: an object must", "show-b-by-op.schema.json: step has no description",
                "show-b.schema.json: says of run what show-a.schema.json says", "show-a.schema.json: no test",
                "app/cli/show_sections.cpp: the section c", "two.cpp:1: declares --force as one.cpp:1 does"]
    ok = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("ok" if ok else "\n".join(found))
    return 0 if ok else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = offences(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
