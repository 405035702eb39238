#!/usr/bin/env python3
"""Checks the prose of comments, texts, help and notes, and names: one spelling of each word, no private word for what the
field has a term for, and \\param, \\tparam, \\return, \\throws,
\\pre and \\post at the start of their lines, where a formatter once joined them to sentences. Identifiers, commands and `code`
keep their spelling; names of tests are prose.

usage: prose.py ROOT        exit 1 and one line per offence
       prose.py --self-test
"""
import pathlib
import re
import sys

FOLDERS = ("app", "core", "kernels", "ui", "tests")
SOURCES = (".h", ".cpp", ".cu", ".cuh")
DATA = ("resources/schema/*.json", "resources/studies/*.yaml", "app/python/**/*.py")
PAGES = ("*.md", "kernels/*.md", "resources/help/**/*.md")

COMMENT = re.compile(r"(?:^|[\s;{})])//[/!]?<?\s?(.*)$")
DIRECTIVE = re.compile(r"\\(?:t?param|returns?|throws|pre|post)\b")
PARAMETER = re.compile(r"\\t?param \w+")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\w+, (\w+)\)")
MARKUP = ("core/report/write_latex.cpp",)
CODE = re.compile(r"\w+='[^']*'|`[^`]*`|\S*(?:::|_|\(\)|\.py|\.cpp|\.h|/)\S*|\"[^\"]*\"")
# The form of most of the texts: British, but for synchronize, as functions of CUDA are named.
STEMS = {
    "synchronis": "synchroniz", "optimiz": "optimis", "normaliz": "normalis", "initializ": "initialis", "serializ": "serialis",
    "recogniz": "recognis", "summariz": "summaris", "organiz": "organis", "minimiz": "minimis", "maximiz": "maximis",
    "color": "colour", "behavior": "behaviour", "neighbor": "neighbour", "gray": "grey", "labeled": "labelled",
    "canceled": "cancelled", "modeled": "modelled", "utiliz": "utilis", "quantiz": "quantis", "analyz": "analys",
    "center": "centre", "favor": "favour", "artifact": "artefact",
}
# Words for which the field has a term, as written in prose or as a part of a name, with that term.
TERMS = {
    "seat": "rank", "party": "process, device, stream or topology", "parties": "processes, devices, streams or topology",
    "rehearsal": "reference step", "rehearse": "run the reference step", "rehearsed": "reference", "patience": "timeout",
    "latecomer": "missing rank", "latecomers": "missing ranks", "goodbye": "exit", "chatter": "calls that are only counted",
    "shelf": "cache", "ledger": "list", "letterbox": "queue", "leisure": "idle time", "meeting": "rendezvous or group",
    "meetings": "groups", "inbox": "queue",
}
TERM = re.compile(rf"(?<![A-Za-z])({'|'.join(TERMS)})(?![a-z])|(?<=_)({'|'.join(TERMS)})(?![a-z])|({'|'.join(word.capitalize() for word in TERMS)})(?![a-z])")
# Common terms that contain one of these words.
OTHERS = re.compile(r"third[ _-]part(?:y|ies)")
TERM_FOLDERS = ("app/", "core/", "kernels/", "ui/", "tests/unit/", "tests/ui/", "resources/help/")
WORD = re.compile(rf"(?<![\w-])({'|'.join(STEMS)})(?!ers?\b)\w*", re.IGNORECASE)


def spellings(prose):
    for found in WORD.finditer(CODE.sub(" ", prose)):
        word = found.group(0)
        if not word.isupper():  # a command of SQL
            yield word, STEMS[found.group(1).lower()] + word[len(found.group(1)):]


def private(line):
    """The private words of a line, whether in prose or in names, with the terms to use."""
    for found in TERM.finditer(OTHERS.sub(" ", line)):
        word = next(filter(None, found.groups()))
        yield f"'{word}' is a private word; the term is {TERMS[word.lower()]}"


def of_comment(line):
    """What is wrong with the comment of a line of source text."""
    found = COMMENT.search(line)
    if not found:
        return
    text = found.group(1)
    for directive in DIRECTIVE.finditer(text):
        if directive.start() > 0 or line[:found.start()].strip():
            yield f"'{directive.group(0)}' does not start its line"
    for word, better in spellings(PARAMETER.sub("", text)):
        yield f"'{word}' is spelled {better} elsewhere"


def of_text(line):
    """What is wrong with the texts of a line: sentences in literals, and the name of a test."""
    texts = [text for text in LITERAL.findall(line) if " " in text.strip()]
    if name := TEST_NAME.search(line):
        texts.append(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.group(1)))
    for text in texts:
        for word, better in spellings(text):
            yield f"'{word}' is spelled {better} elsewhere"


def of_page(text):
    """(line, what is wrong) of a page in Markdown, outside code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            for word, better in spellings(line):
                yield number, f"'{word}' is spelled {better} elsewhere"


def self_test():
    wrong = ["/// a b. \\param b  (n, k)", "int x; ///< \\param height  of a row",
             "/// \\param b  (n, k). \\throws Error", "int x; ///< the marked one. \\pre there is one", "// It synchronises the stream.", "/// Its color."]
    right = ["/// \\param b  (n, k)", "    /// \\return  it", "// cudaStreamSynchronize() waits.", "// see `color`", 'f("color");',
             "// the optimizer's state", "/// \\param color  of a part"]
    bad = [line for line in wrong if not list(of_comment(line))] + [line for line in right if list(of_comment(line))]
    wrong = ['f("the color of a");', "TEST(Colors, AreNormalized)"]
    right = ['f("color");', 'f("<b style=\'color:%1\'>%2 runs</b>");', "TEST_F(Optimizer, OptimizersStateIsKept)"]
    bad += [line for line in wrong if not list(of_text(line))] + [line for line in right if list(of_text(line))]
    if not list(of_page("The color\n")) or list(of_page("    color\n`color`\n")):
        bad.append("pages")
    wrong = ["RankSeat seat;", "the party of an event", "int kPatience = 1;", "void sayGoodbye();", "party_filter.h"]
    right = ["third_party/include", "a third party", "counterparty", "the outpatient"]
    bad += [line for line in wrong if not list(private(line))] + [line for line in right if list(private(line))]
    for line in bad:
        print(f"judged wrongly: {line}")
    print("prose self-test failed" if bad else "prose self-test passed")
    sys.exit(1 if bad else 0)


def main():
    if sys.argv[1] == "--self-test":
        self_test()
    root = pathlib.Path(sys.argv[1])
    sources = [p for top in FOLDERS for p in sorted((root / top).rglob("*")) if p.suffix in SOURCES]
    pages = sorted({page for pattern in PAGES for page in root.glob(pattern)})
    if not sources or not pages:
        sys.exit(f"{root}: no sources or no pages found")
    data = sorted(path for pattern in DATA for path in root.glob(pattern))
    count = 0
    for path in sources + data + pages:
        text = path.read_text(encoding="utf-8")
        names = [private] if path.relative_to(root).as_posix().startswith(TERM_FOLDERS) else []
        checks = names + ([of_comment] if path in sources else []) + ([] if path.relative_to(root).as_posix() in MARKUP else [of_text])
        found = of_page(text) if path in pages else (
            (number, what) for number, line in enumerate(text.splitlines(), 1) for check in checks for what in check(line))
        for number, what in found:
            print(f"{path.relative_to(root)}:{number}: {what}")
            count += 1
    print(f"{len(sources)} sources, {len(data)} files of data and {len(pages)} pages, {count} offences")
    sys.exit(1 if count else 0)


main()
