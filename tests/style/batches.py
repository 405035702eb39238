#!/usr/bin/env python3
"""Checks that source files of a folder can be compiled as one: names in their anonymous namespaces differ from each other and from the
types and constants that headers of the same library, of core/base and of core/model declare.

Some builds compile several files of a folder together (TILESCOPE_BATCH and TILESCOPE_TEST_BATCH in cmake/TilescopeBuild.cmake). Functions
count by their name, also where they take other parameters, because a call could otherwise find the wrong one. An alias may
stand in several files if it means the same type. No file brings the names of an enumeration into the namespace that it shares.

usage: batches.py ROOT        exit 1 and one line per offence
       batches.py --self-test
"""
import collections
import pathlib
import re
import sys
import tempfile

BATCHED = ("core", "ui", "app/cli", "kernels/torch", "tests/ui", "tests/unit")
NOT_BATCHED = ("tests/unit/kernels",)
EVERYWHERE = ("core/base", "core/model")
MACROS = ("TEST", "TEST_F", "TEST_P")
# clang-format indents what is not in a namespace directly.
HEADER_NAME = re.compile(r"^(?:(?:struct|class|enum class|enum|using) (\w+)\b|(?:inline )?constexpr [^;={(]*?\b(\w+)\s*[={])", re.M)
IGNORED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^\s*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
# In folded text ¶ stands for what was in parentheses and § for a body.
TYPE = re.compile(r"\b(?:struct|enum\s+class|class|enum|union)\s+(\w+)[^;=¶§]*§")
ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([^;]*);")
FUNCTION = re.compile(r"[\w>*&]\s+[*&]*(\w+)\s*¶[^;=§]*[;§]")
ENUMERATORS = re.compile(r"^using enum [^;]*;", re.M)
VALUE = re.compile(r"\b(?:const|constexpr|constinit|thread_local)\b[^;=§¶]*?\b(\w+)\s*(?:\[\w*\]\s*)*[=;§]")


def folded(text):
    before = None
    while before != text:
        before = text
        text = re.sub(r"\{[^{}()]*\}", "§", re.sub(r"\([^{}()]*\)", "¶", text))
    return text


def anonymous(text):
    """What anonymous namespaces contain."""
    for match in re.finditer(r"\bnamespace\s*\{", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[match.end():end - 1]


def names(text):
    """Name and meaning of what the anonymous namespaces declare. The meaning is empty except for aliases."""
    for body in anonymous(IGNORED.sub(" 0 ", text)):
        body = re.sub(r"\btemplate\s*<[^;{]*?>(?=\s*[\w\[])", " ", re.sub(r"\[\[\w+\]\]", " ", folded(body)))
        for statement in re.findall(r"[^;§]*(?:§\s*;?|;)", body):
            alias = ALIAS.search(statement)
            if alias:
                yield alias[1], " ".join(alias[2].split())
                continue
            found = TYPE.search(statement) or FUNCTION.search(statement) or VALUE.search(statement)
            if found and "::" + found[1] not in statement and found[1] not in MACROS:
                yield found[1], ""


def library(folder):
    parts = folder.parts
    if parts[0] == "tests":
        return folder.as_posix()
    return "/".join(parts[:2] if parts[0] in ("core", "app") else parts[:1])


def header_names(root, top):
    """The types and constants that headers below a folder declare, and a header of each."""
    return {kind or constant: header.relative_to(root).as_posix() for header in sorted((root / top).rglob("*.h"))
            for kind, constant in HEADER_NAME.findall(header.read_text(encoding="utf-8"))}


def offences(root):
    found = []
    declared = {}
    everywhere = {name: header for top in EVERYWHERE for name, header in header_names(root, top).items()}
    folders = {file.parent for top in BATCHED for file in (root / top).rglob("*.cpp")
               if not file.relative_to(root).as_posix().startswith(NOT_BATCHED)}
    for folder in sorted(folders):
        files = collections.defaultdict(lambda: collections.defaultdict(set))
        top = library(folder.relative_to(root))
        if top not in declared:
            declared[top] = everywhere | header_names(root, top)
        for file in sorted(folder.glob("*_test.cpp" if top.startswith("tests/") else "*.cpp")):
            text = file.read_text(encoding="utf-8")
            found += [f"{file.relative_to(root).as_posix()}: '{using}' applies to other files, too; write it in functions"
                      for using in ENUMERATORS.findall(text)]
            for name, meaning in names(text):
                files[name][meaning].add(file.name)
                if name in declared[top]:
                    found.append(f"{file.relative_to(root).as_posix()}: {declared[top][name]} declares {name}, too; rename it")
        for name, meanings in sorted(files.items()):
            places = sorted(set().union(*meanings.values()))
            if len(places) > 1 and (len(meanings) > 1 or "" in meanings):
                found.append(f"{folder.relative_to(root).as_posix()}: {', '.join(places)}: the name {name} stands in each; rename or share it")
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "core").mkdir()
        (root / "core/a.cpp").write_text("""
            namespace x {
            namespace {
            // int commented() {}
            constexpr std::array<int, 2> kList{1, 2};
            constexpr int kLimit = 3;
            using Same = long;
            using Other = std::vector<int>;
            struct Side { int once() { return 1; } };
            template <class T> std::optional<T> parsed(const T& text) { int local = 0; return local; }
            class Final final : public Base { void own(); };
            [[noreturn]] void refuse(int line);
            const char* text(int i = 3) noexcept { return "}"; }
            }
            void exported() {}
            }""")
        (root / "core/b.cpp").write_text("""
            namespace x {
            void exported(int) {}
            namespace {
            constexpr int kList[] = {1};
            using Same = long;
            using Other = std::set<int>;
            struct Side;
            enum class Side { A };
            int parsed(int local) { return local; }
            void own() {}
            class Another final : public Base { int once() { return 2; } };
            void refuse() { throw 1; }
            QString text(const Path& path) { return {}; }
            }
            }""")
        (root / "core/c.cpp").write_text("using enum Side;\nvoid inside()\n{\n    using enum Side;\n}\n")
        (root / "core/base").mkdir()
        (root / "core/base/final.h").write_text(
            "class Final {\n    struct Side {};\n};\ninline constexpr std::size_t kLimit = 4;\n")
        expected = [f"core/a.cpp: core/base/final.h declares {name}, too; rename it" for name in ("kLimit", "Final")]
        expected += [f"core: a.cpp, b.cpp: the name {name} stands in each; rename or share it"
                    for name in ("Other", "Side", "kList", "parsed", "refuse", "text")]
        expected.insert(2, "core/c.cpp: 'using enum Side;' applies to other files, too; write it in functions")
        assert offences(root) == expected, offences(root)
    print("batches self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    found = offences(pathlib.Path(sys.argv[1]))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
