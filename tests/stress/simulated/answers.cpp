// Runs commands of tilescope one after the other in one process, so that many small recordings can be examined without starting
// a program for each answer:
//
//     answers
//
// reads a command a line, its words separated by tabs (`show`, `a.tscope`, `steps`, `--format`, `json`). For each it writes a line
// with the exit code and the number of bytes, and then as many bytes: what the command prints, or why it failed.

#include "app/cli/commands.h"
#include "core/base/current_error.h"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tilescope;

using Command = int (*)(int argc, char** argv);

Command commandOf(std::string_view verb)
{
    if (verb == "show")
        return cli::showCommand;
    if (verb == "import")
        return cli::importCommand;
    return verb == "sql" ? cli::sqlCommand : nullptr;
}

std::vector<std::string> wordsOf(const std::string& line)
{
    std::vector<std::string> words;
    std::istringstream text(line);
    for (std::string word; std::getline(text, word, '\t');)
        words.push_back(word);
    return words;
}

/// The exit code of a command; its output is written to `printed`.
int run(std::vector<std::string> words, std::ostringstream& printed)
{
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    std::streambuf* const output = std::cout.rdbuf(printed.rdbuf());
    int code = 2;
    try {
        if (const Command command = words.empty() ? nullptr : commandOf(words.front()))
            code = command(static_cast<int>(arguments.size()), arguments.data());
        else
            printed << "only show, import and sql are known here";
    } catch (...) {
        const Error error = currentError();
        printed << error.sentence();
        code = error.exitCode();
    }
    std::cout.rdbuf(output);
    return code;
}

} // namespace

int main()
{
    for (std::string line; std::getline(std::cin, line);) {
        std::ostringstream printed;
        const int code = run(wordsOf(line), printed);
        const std::string text = printed.str();
        std::cout << code << ' ' << text.size() << '\n' << text << std::flush;
    }
}
