#!/usr/bin/env python3
"""Checks the columns of the window's tables: what the command line shows as well is defined once, in core/exchange/**/*_columns.h.

The window spells out the title of a column, in makeColumn() or in a ColumnOf of its own, only where it is listed below:
drawings, texts put together from several values, values of plots for the clipboard, and tables that only the window
has. A section that the window shows as well spells out only the columns that only the command line has.

usage: columns.py ROOT        exit 1 and one line per offence
       columns.py --self-test
"""
import pathlib
import re
import sys
import tempfile

WINDOW_ALONE = {
    "ui/charts/chart_rows.cpp": {"Fit", "Formula", "± of c, %", "From", "R²", "At %1, %2"},
    "ui/compare/comparison_rows.cpp": {"Part", "Peak B / A"},
    "ui/compare/distribution_plot.cpp": {"Phase", "Run", "Sample", "Wall, ms"},
    "ui/flame/flame_shares.cpp": {"of the box", "A over B", "B - A"},
    "ui/kernels/inside_rows.cpp": {"%", "A, %", "B - A", "Empty, %", "Instruction", "Line", "Offset", "Samples", "Samples by state", "Source",
                                   "Stalled most by", "State of the warps", "of the line, %"},
    "ui/kernels/kernel_rows.cpp": {"Min to max, log"},
    "ui/kit/copy_menu.cpp": {"Line", "x", "y"},
    "ui/kit/run_columns.cpp": {"Run"},
    "ui/machine/machine_page.cpp": {"Topic", "Verdict", "Finding", "Remedy"},
    "ui/memory/memory_areas.cpp": {"Time, ns", "%1, B", "reserved, B", ", B"},
    "ui/memory/memory_rows.cpp": {"share", "blocks", "segment", "size", "used", "free", "Used", "largest free", "stream", "kind"},
    "ui/overview/oom_rows.cpp": {"Of the limit", "measured", "measured step"},
    "ui/overview/overview_tables.cpp": {"A over B", "B - A", "Speedup over A, ×"},
    "ui/overview/step_bar_plot.cpp": {"Run", "Part of the step", "Time, ns"},
    "ui/overview/study_rows.cpp": {"Study", "First finding", "Points", "Chart"},
    "ui/ranks/lateness_grid.cpp": {"Collective", "Rank", "Late, ns"},
    "ui/ranks/rank_lanes.cpp": {"Collective", "Rank", "Start in step, ns", "Wait, ns", "Duration, ns"},
    "ui/waiting/mean_step_bar.cpp": {"Part of the step", "Time, ns"},
    "ui/waiting/waiting_rows.cpp": {"B - A", "Function", "Line", "Source", "idle", "idle A", "idle B"},
    "ui/timeline/timeline_rows.cpp": {"Op", "Kernel", "Run", "Note", "At", "Start, ms", "Length", "Name", "Lane"},
    "ui/window/run_dock.cpp": {"File", "#"},
    "ui/window/run_tree_model.cpp": {"run"},
    "ui/window/start_view.cpp": {"File", "Folder", "Changed", "Holds", "Size"},
}
# Sections whose columns the window shows as well, by the type of their data or by their function, with the keys of
# the columns that only the command line has.
SHARED_SECTIONS = {
    "AdviceTable": {"", "at_stake_bytes", "at_stake_total_ns", "bound", "command", "denominator", "evidence", "pid", "process", "rank", "run", "steps",
                    "wall_total_ns", "why"},
    "CallTreeTable": {"call", "id", "name", "parent", "path"},
    "KernelsTable": set(),
    "LiveMemoryTable": set(),
    "MemoryGroupsTable": {"after", "allocations", "before", "churn", "max", "peak"},
    "OpsTable": set(),
    "RangesTable": set(),
    "RooflineTable": {"why not"},
    "RunList": {"device", "flags", "name", "note", "oom", "params", "phases", "run", "seconds", "started", "tag", "uid", "warmup_ms",
                "what differs"},
    "collectivesOf": {"late_rank", "missing_count", "missing_ranks", "needed_by", "per_rank", "ranks", "run", "slack_rank",
                      "slack_rule", "typical", "why"},
    "groupsTable": set(),
    "memoryTable": set(),
    "partsTable": {"kind", "module", "name"},
    "timesTable": {"clock", "difference_ci95", "n_a", "n_b", "phase", "ratio", "ratio_ci95", "runs_a", "runs_b", "verdict"},
}
SECTION = re.compile(r"^Table (\w+)\((?:std::shared_ptr<const (?:query::)?(\w+)>)?.*?^}$", re.M | re.S)
SPELLED_OUT = re.compile(r'\bcolumn(?:\.\w+)?\(\s*"([^"]*)"')
OWN_COLUMN = r"\b(?:exchange::ColumnOf<[\w:]+>|\w+Columns::Of|{})\s*\w*\("
ALIAS = re.compile(r"using (\w+) = exchange::ColumnOf<")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def first_argument(text, at):
    """The first argument of the call whose opening parenthesis is before `at`."""
    depth = 0
    end = at
    quoted = False
    while end < len(text):
        letter = text[end]
        if letter == '"' and text[end - 1] != "\\":
            quoted = not quoted
        elif not quoted and letter in "([{":
            depth += 1
        elif not quoted and letter in ")]}":
            depth -= 1
        if depth < 0 or (depth == 0 and letter == "," and not quoted):
            break
        end += 1
    return text[at:end]


def titles_of(text):
    """The titles that a file of the window spells out, with their lines."""
    titles = [(match.start(), first_argument(text, match.end())) for match in re.finditer(r"\bmakeColumn\(", text)]
    names = "|".join(ALIAS.findall(text)) or "ColumnOf"
    for match in re.finditer(OWN_COLUMN.format(names), text):
        key = first_argument(text, match.end())
        titles.append((match.start(), first_argument(text, match.end() + len(key) + 1)))
    for at, title in titles:
        for literal in LITERAL.finditer(title):
            if literal[1].strip(" -−"):
                yield literal[1], text.count("\n", 0, at) + 1


def sections(root, shared):
    """Columns that a section spells out although the window shows them."""
    found = []
    seen = {name: set() for name in shared}
    for path in sorted((root / "core/exchange").rglob("*.cpp")):
        for section in SECTION.finditer(path.read_text(encoding="utf-8")):
            name = section[2] or section[1]
            if name not in shared:
                continue
            keys = [column[1] for column in SPELLED_OUT.finditer(section[0])]
            seen[name].update(keys)
            found += [f'{path.relative_to(root).as_posix()}: the column "{key}" of {name} belongs into '
                      "core/exchange/**/*_columns.h" for key in keys if key not in shared[name]]
    for name, keys in shared.items():
        found += [f'tests/style/columns.py: {name} has no column "{key}"' for key in sorted(keys - seen[name])]
    return found


def offences(root, allowed, shared):
    found = sections(root, shared)
    seen = {path: set() for path in allowed}
    for path in sorted((root / "ui").rglob("*.cpp")):
        name = path.relative_to(root).as_posix()
        for title, line in titles_of(path.read_text(encoding="utf-8")):
            seen.setdefault(name, set()).add(title)
            if title not in allowed.get(name, ()):
                found.append(f'{name}:{line}: the column "{title}" belongs into core/exchange/**/*_columns.h; '
                             "if only the window can have it, list it in tests/style/columns.py")
    for name, titles in allowed.items():
        found += [f'tests/style/columns.py: {name} has no column "{title}"' for title in sorted(titles - seen[name])]
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "ui").mkdir()
        (root / "ui/a.cpp").write_text('table.add(makeColumn(QStringLiteral("Total, %1").arg(unit), Kind::Number, 5), "no");\n'
                                       'table.add(makeColumn(ops ? tr("Op") : tr("Kernel"), Kind::Text, 0), cell);\n'
                                       'table.add(makeColumn({}, Kind::Bar, 5), cell);\n'
                                       'table.add(exchange::ColumnOf<Row>("", "of the box", [](const Row& row) { return 1; }), 5);\n'
                                       'using Value = exchange::ColumnOf<Row>;\n'
                                       'const Value share("percent", "share", &Row::percent);\n', encoding="utf-8")
        (root / "core/exchange").mkdir(parents=True)
        (root / "core/exchange/s.cpp").write_text('Table tableOf(std::shared_ptr<const query::OpsTable> ops)\n{\n'
                                                  '    add(column(of.total), column("avg_ns", "mean", &Row::mean));\n}\n'
                                                  'Table tableOf(std::shared_ptr<const query::Losses> losses)\n{\n'
                                                  '    add(column("kind", "kind", &Row::kind));\n}\n'
                                                  'Table partsTable(const ComparisonPtr& comparison)\n{\n'
                                                  '    add(column.people("part", &Row::part));\n}\n', encoding="utf-8")
        found = offences(root, {"ui/a.cpp": {"Op", "Kernel", "Gone"}}, {"OpsTable": {"old"}, "partsTable": set()})
    expected = ['core/exchange/s.cpp: the column "avg_ns" of OpsTable', 'core/exchange/s.cpp: the column "part" of partsTable',
                'tests/style/columns.py: OpsTable has no column "old"', 'ui/a.cpp:1: the column "Total, %1"',
                'ui/a.cpp:4: the column "of the box"', 'ui/a.cpp:6: the column "share"',
                'tests/style/columns.py: ui/a.cpp has no column "Gone"']
    ok = len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected))
    print("ok" if ok else "\n".join(found))
    return 0 if ok else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = offences(pathlib.Path(sys.argv[1]), WINDOW_ALONE, SHARED_SECTIONS)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
