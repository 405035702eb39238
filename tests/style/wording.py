#!/usr/bin/env python3
"""Checks the texts for people. A number and its noun come from counted() or plural() (core/base/plural.h,
ui/kit/count_text.h), not "1 runs" or "2 row(s)". Quantities come from withUnit() or threeDigits() (core/base/quantity.h),
not from %g, which prints 1e+03. Texts are elided by elidedText() (ui/kit/elided_text.h), which cuts no number. Studies do not
call a median a mean.

usage: wording.py ROOT        exit 1 and one line per offence
       wording.py --self-test
"""
import pathlib
import re
import sys

NOUNS = ("allocation block bucket change event file finding flag group head instance kernel layer note op point range record "
         "repeat row run sample segment series step thread warning wave").split()
PLURAL = "|".join(noun if noun.endswith("s") else noun + "s" for noun in NOUNS)
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
PLACE = r"(?:%L?\d+|%(?:zu|l{0,2}[du])|\{\d*\})"
WORDS = rf" (?!percentage )(?:[a-z-]+ )?(?:{PLURAL})\b"
COUNT = re.compile(PLACE + WORDS)
# A literal behind a number: `<< n << " runs"`, `std::to_string(n) + " more runs"`.
BEHIND = re.compile(rf'(?:<<|\+|^)\s*"{WORDS}')
BRACKETED = re.compile(r"[a-z]\(s\)")
# Qt's own elision, which may cut a number.
ELIDED = re.compile(r"(?:\.|->)elidedText\(")
ELIDING = "ui/kit/elided_text.cpp"
GENERAL = re.compile(r"%[-+ 0#]*\d*\.\d+l?g|\{\d*:[^{}]*\.\d+g\}")

FOLDERS = ("core", "app", "ui")
FOR_PEOPLE = ("core/analysis", "core/exchange", "core/query", "core/report", "app", "ui")  # elsewhere %g writes data
# Texts whose number is never one, or no count.
NEVER_ONE = {
    "core/analysis/time/run_flags.cpp": ["the last %zu of %zu timed steps"],  # a level has 8 steps
    "core/config/expand.cpp": ["the sweep would take {} runs"],
    "core/config/spec_document.cpp": ['" points"'],  # more than a sweep may have
    "core/query/compare/compare_tables.cpp": ['" points"'],
    "core/report/findings.cpp": ['" runs --format json"', "(all {} points)", "{:.2f}, {} points)"],
    "core/report/setting.cpp": ["Fewer than {} timed steps"],
    "core/store/rows/stored_rows.h": [" the rows of run "],
    "core/trace/counters/counter_reader.cpp": ['" kernels, and counters are stored for "'],
    "ui/window/run_tree_model.cpp": ["flags:%8"],
}


def offences(text, name="ui"):
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("//", "#include")):
            continue
        if name != ELIDING and ELIDED.search(line):
            yield number, "elidedText", "may cut a number; use elidedText() of ui/kit/elided_text.h"
        literals = LITERAL.findall(line)
        counts = [] if any(words in line for words in NEVER_ONE.get(name, ())) else [BEHIND.search(line)]
        if counts:
            counts += [COUNT.search(literal) or BRACKETED.search(literal) for literal in literals]
        for found in filter(None, counts):
            yield number, found.group(0).strip(), "is wrong for 1; use counted() or plural()"
        for literal in literals if name.startswith(FOR_PEOPLE) else []:
            if found := GENERAL.search(literal):
                yield number, found.group(0), "turns to an exponent; use withUnit() or threeDigits()"


def means(text):
    """Sentences of a study that call the median of a time a mean; `{mean}` is the geometric mean of the rule mean."""
    for number, line in enumerate(text.splitlines(), 1):
        sentence = re.match(r"asks: (.*)|.*value: (?:step|forward|loss|backward|optimizer)\b.*say: (.*)", line)
        if sentence and re.search(r"(?<!\{)\bmeans?\b(?!\})", sentence.group(1) or sentence.group(2)):
            yield number, "mean", "is a median"


def self_test():
    wrong = ['tr("%1 runs selected")', 'QStringLiteral(", %2 level-of-detail buckets")', '"row(s)"',
             'fmt::format("{} of {} points", a, b)', 'out << count << " more rows; --limit 0"', 'text + " more flags"',
             'format("the last %zu steps")', '                                " more runs did not end well"',
             'format("%.4g ms", x)', 'fmt::format("{:.3g} s", x)', '"{0:>9.6g}"',
             'metrics.elidedText(text, Qt::ElideRight, width)']
    right = ['counted(n, "run")', 'tr("%1 of %2")', '// "%1 runs"', 'tr("step %1, peak %2")', '"runs %1"',
             'plural(n, "run", "runs")', 'fmt::format("{:.2f} s", x)', 'fmt::format("{:g} s", x)', 'text += " of runs"',
             'elidedText(text, metrics, Qt::ElideRight, width)']
    bad = [text for text in wrong if not list(offences(text))] + [text for text in right if list(offences(text))]
    wrong = ['asks: How does the mean change?', '- {rule: spread, value: step, say: "The mean is {range}."}']
    right = ['- {rule: mean, value: step, say: "It is {mean} times as fast."}', '- {value: norm, say: "Its mean is a sum."}']
    bad += [text for text in wrong if not list(means(text))] + [text for text in right if list(means(text))]
    for text in bad:
        print(f"judged wrongly: {text}")
    sys.exit(1 if bad else 0)


def main():
    if sys.argv[1] == "--self-test":
        self_test()
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")]
    if not files:
        sys.exit(f"{root}: no sources found")
    studies = sorted((root / "resources/studies").glob("*.yaml"))
    count = 0
    for path in files + studies:
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        for line, words, why in means(text) if path in studies else offences(text, name):
            print(f"{name}:{line}: '{words}' {why}")
            count += 1
    print(f"{len(files)} files, {count} texts that read badly")
    sys.exit(1 if count else 0)


main()
