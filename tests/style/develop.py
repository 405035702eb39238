#!/usr/bin/env python3
"""Checks the how-to pages in resources/help/develop.

Each page names an example and the command that lists its files: `git grep -lE 'REGEX' -- PATH…`. Its table "file | change" must name
exactly those files. CONTRIBUTING.md must link each page. Its table "idea | type | header" must name headers that declare the types.
So must the tables "step | type | header" of walks.md, of at most eight rows; files that use the types of other libraries must name them.
README.md must give the number of studies.

usage: develop.py ROOT        exit 1 and one line per offence
       develop.py --self-test
"""
import pathlib
import re
import sys
import tempfile

COMMAND = re.compile(r"`git grep -lE '([^']+)' -- ([^`]+)`")
ROW = re.compile(r"^\| `([^`]+)` \| \S", re.M)
STEP = re.compile(r"^\| (\d+) \| `([\w:]+)` \| `([^`]+)` \| \S", re.M)
MOST_STEPS = 8
FOREIGN = re.compile(r"^CUpti_|^c10::|^at::")
IDEA = re.compile(r"^\| [^|]+ \| `(\w+)` \| `([^`]+\.h)` \|$", re.M)


def matching(root, pattern, paths):
    """The files below `paths` with a line that matches, as git grep lists them."""
    found = set()
    for path in paths:
        top = root / path
        for file in [top] if top.is_file() else sorted(top.rglob("*")):
            if file.is_file() and re.search(pattern, file.read_text(encoding="utf-8", errors="replace"), re.M):
                found.add(file.relative_to(root).as_posix())
    return found


def declares(header, name):
    declaration = re.compile(rf"^(template <.*> )?(class|struct|enum class|using) {name}\b|^\w.*\b{name}\(", re.M)
    return header.is_file() and declaration.search(header.read_text(encoding="utf-8")) is not None


def walk_offences(root, page, text):
    found = []
    for walk in text.split("\n## ")[1:]:
        title = walk.split("\n", 1)[0]
        steps = STEP.findall(walk)
        if not 0 < len(steps) <= MOST_STEPS:
            found.append(f"{page}: {title}: has {len(steps)} steps; 1 to {MOST_STEPS} are allowed")
        if [int(number) for number, _, _ in steps] != list(range(1, len(steps) + 1)):
            found.append(f"{page}: {title}: the steps are not numbered from 1")
        for _, name, header in steps:
            if not FOREIGN.search(name):
                if not declares(root / header, name):
                    found.append(f"{page}: {title}: {header} does not declare {name}")
            elif not (root / header).is_file() or name not in (root / header).read_text(encoding="utf-8"):
                found.append(f"{page}: {title}: {header} does not name {name}")
    return found


def miscounted_studies(root):
    studies = sum(not file.name.endswith(".report.yaml") for file in (root / "resources/studies").glob("*.yaml"))
    readme = (root / "README.md").read_text(encoding="utf-8")
    return [f"README.md: says {number} studies; there are {studies}"
            for number in re.findall(r"\b(\d+) studies\b", readme) if int(number) != studies]


def offences(root):
    found = miscounted_studies(root)
    contributing = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name, header in IDEA.findall(contributing):
        if not declares(root / header, name):
            found.append(f"CONTRIBUTING.md: {header} does not declare {name}")
    pages = sorted((root / "resources/help/develop").glob("*.md"))
    if not pages:
        found.append("resources/help/develop: no pages found")
    for page in pages:
        name = page.relative_to(root).as_posix()
        text = page.read_text(encoding="utf-8")
        if name not in contributing:
            found.append(f"CONTRIBUTING.md: does not link {name}")
        if page.name == "walks.md":
            found += walk_offences(root, name, text)
            continue
        commands = COMMAND.findall(text)
        if len(commands) != 1:
            found.append(f"{name}: names {len(commands)} commands that list the example's files; one is needed")
            continue
        pattern, paths = commands[0]
        expected = matching(root, pattern, paths.split())
        listed = set(ROW.findall(text))
        found += [f"{name}: does not list {file}" for file in sorted(expected - listed)]
        found += [f"{name}: lists {file}, which does not name the example" for file in sorted(listed - expected)]
    return found


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "resources/help/develop").mkdir(parents=True)
        (root / "core").mkdir()
        (root / "resources/studies").mkdir()
        for study in ("a", "a.report", "b", "b.report"):
            (root / f"resources/studies/{study}.yaml").write_text("")
        (root / "README.md").write_text("2 studies and 3 studies")
        (root / "CONTRIBUTING.md").write_text("resources/help/develop/a.md\n| an idea | `Known` | `core/known.h` |\n"
                                             "| its verb | `act` | `core/known.h` |\n| another | `Gone` | `core/known.h` |\n")
        (root / "core/known.h").write_text("class Known {\n};\nvoid act(const Known& known);\n")
        (root / "core/x.h").write_text("Example\n")
        (root / "core/y.h").write_text("Example\n")
        (root / "core/z.h").write_text("other\n")
        page = "`git grep -lE 'Example' -- core`\n\n| file | change |\n|---|---|\n| `core/x.h` | x |\n| `core/z.h` | z |\n"
        (root / "resources/help/develop/a.md").write_text(page)
        (root / "resources/help/develop/b.md").write_text(page.replace("core/z.h", "core/y.h"))
        (root / "resources/help/develop/c.md").write_text("no command")
        row = "| {} | `{}` | `core/known.h` | done |\n"
        (root / "resources/help/develop/walks.md").write_text(
            "# Walks\n\n## Good\n\n" + row.format(1, "Known") + "\n## Bad\n\n" + row.format(2, "Gone") + row.format(3, "at::Gone")
            + "\n## Long\n\n" + "".join(row.format(i, "Known") for i in range(1, 10)) + "\n## Empty\n")
        expected = ["README.md: says 3 studies; there are 2",
                    "CONTRIBUTING.md: core/known.h does not declare Gone",
                    "resources/help/develop/a.md: does not list core/y.h",
                    "resources/help/develop/a.md: lists core/z.h, which does not name the example",
                    "CONTRIBUTING.md: does not link resources/help/develop/b.md",
                    "CONTRIBUTING.md: does not link resources/help/develop/c.md",
                    "resources/help/develop/c.md: names 0 commands that list the example's files; one is needed",
                    "CONTRIBUTING.md: does not link resources/help/develop/walks.md",
                    "resources/help/develop/walks.md: Bad: the steps are not numbered from 1",
                    "resources/help/develop/walks.md: Bad: core/known.h does not declare Gone",
                    "resources/help/develop/walks.md: Bad: core/known.h does not name at::Gone",
                    "resources/help/develop/walks.md: Long: has 9 steps; 1 to 8 are allowed",
                    "resources/help/develop/walks.md: Empty: has 0 steps; 1 to 8 are allowed"]
        assert offences(root) == expected, offences(root)
    print("develop self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = offences(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


main()
