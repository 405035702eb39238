// The command line: finds the verb, calls it and prints errors.

#include "app/cli/commands.h"
#include "app/cli/import_progress.h"
#include "app/cli/on_host.h"
#include "app/cli/recording.h"
#include "core/base/current_error.h"
#include "core/base/environment_variable.h"
#include "core/base/paths.h"
#include "core/base/process.h"
#include "core/base/shell_word.h"
#include "core/base/spelling.h"
#include "core/base/version.h"
#include "core/exchange/import/recording/growing_recording.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>
#include <vector>

using namespace tilescope;

namespace {

void printHelp()
{
    std::cout << programBanner()
              << ": where do the time and the memory of a transformer step go?\n\n"
                 "usage: tilescope [FILE…]            the window (on files)\n"
                 "       tilescope VERB …             see VERB --help\n\n";
    for (const cli::Verb& verb : cli::verbs()) {
        std::cout << "  " << verb.name << std::string(12 - verb.name.size(), ' ') << verb.purpose << '\n'
                  << "              " << verb.example << '\n';
    }
    std::cout
        << "\n  help VERB   the same as VERB --help\n"
           "  --version   print the version, also -V\n"
           "  --color auto|always|never, -q (only results, warnings and errors): every verb has them\n"
           "\nLibTorch: the engine uses the torch 2.11 folder in TILESCOPE_TORCH, otherwise its own run "
           "path, the torch\nof python3 or that of packaging/dev setup; see help/cluster.md\n"
           "\nexit codes: 0 all points ok, oom or skipped; 1 compare --gate: exceeded; 2 unusable "
           "arguments,\n"
           "spec or file; 3 a point ended in error; 4 the machine lacks something requested; 5 compare "
           "--gate:\n"
           "undecided; 130 cancelled\n";
}

/// Keeps freed memory in the process. An answer about many steps needs lists of the same size for each step;
/// returning their memory to the system every time takes up to a third of the processor time.
void keepFreedMemory()
{
    constexpr int kMiB = 1 << 20;
    mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
    mallopt(M_MMAP_THRESHOLD, 32 * kMiB);
}

/// Whether a first argument that is not a verb names a file: it exists or looks like one.
bool namesFile(const std::string& argument)
{
    std::error_code error;
    return std::filesystem::exists(argument, error) || argument.ends_with(".tscope") ||
           cli::fileOnHost(argument) || argument.find('/') != std::string::npos;
}

bool isSpec(std::string_view argument)
{
    return argument.ends_with(".yaml") || argument.ends_with(".yml");
}

/// Whether Qt finds a place for a window without being told.
bool hasDisplay()
{
    return !environmentVariable("DISPLAY").empty() || !environmentVariable("WAYLAND_DISPLAY").empty() ||
           !environmentVariable("QT_QPA_PLATFORM").empty();
}

/// Text of a file or an argument may be of any length; its beginning tells which it is.
std::string shortened(const std::string& text)
{
    constexpr std::size_t kMost = 800;
    if (text.size() <= kMost)
        return text;
    std::size_t end = kMost;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) // within a character
        --end;
    return text.substr(0, end) + "… (" + std::to_string(text.size()) + " bytes)";
}

void requireThere(std::string_view file)
{
    std::error_code error;
    // A recording that is being made has no file yet.
    if (!std::filesystem::exists(file, error) && !exchange::GrowingRecording::of(file) &&
        !cli::fileOnHost(file)) {
        cli::refuseUnknownHost(file);
        throw Error{.what = error ? "cannot be opened (" + error.message() + ")" : "no such file",
                    .where = std::string(file),
                    .remedy = "check the path; tilescope --help lists the verbs"};
    }
}

[[noreturn]] void throwUnknown(const std::string& argument)
{
    std::vector<std::string_view> words;
    for (const cli::Verb& verb : cli::verbs())
        words.push_back(verb.name);
    words.insert(words.end(), {"help", "--help", "--version"});
    if (argument == "-q" || argument == "--quiet" || argument == "--color" ||
        argument.starts_with("--color="))
        throw Error{.what = "follows a verb", .where = argument, .remedy = "tilescope VERB … " + argument};
    throw Error{.what = argument.starts_with('-') ? "unknown option" : "unknown verb, and no such file",
                .where = argument,
                .remedy = didYouMean(argument, words)};
}

/// Replaces this process by the window. Returns only by throwing.
/// \param words  files, then options, which the window's program checks
[[noreturn]] void openWindow(std::span<char*> words, char** argv)
{
    for (const char* word : words) {
        if (*word == '-')
            break;
        requireThere(word);
    }
    const std::filesystem::path window = siblingProgram("TILESCOPE_GUI", "tilescope-gui");
    execv(window.c_str(), argv);
    throw Error{.what = std::string("the window cannot be opened (") + std::strerror(errno) + ")",
                .where = window.string(),
                .remedy = "install tilescope-gui beside this program, or use `tilescope show FILE`",
                .kind = ErrorKind::Environment};
}

/// Moves `--batch` to the front: it acts as the verb, whatever its position.
bool bringBatchToFront(std::vector<char*>& words)
{
    if (words.size() < 2 || words[1][0] != '-')
        return false;
    const auto found = std::find_if(words.begin() + 1, words.end(),
                                    [](const char* word) { return std::string_view(word) == "--batch"; });
    if (found == words.end())
        return false;
    std::rotate(words.begin() + 1, found, found + 1);
    return true;
}

const cli::Verb* findVerb(std::string_view word)
{
    const std::span<const cli::Verb> all = cli::verbs();
    const auto found = std::ranges::find(all, word, &cli::Verb::name);
    return found == all.end() ? nullptr : &*found;
}

/// `help VERB …` prints the same as `VERB … --help`.
int help(std::span<char*> words)
{
    if (words.empty()) {
        printHelp();
        return 0;
    }
    const std::string asked = words[0];
    if (asked == "help" || asked == "--help" || asked == "-h") {
        printHelp();
        return 0;
    }
    const cli::Verb* verb = findVerb(asked);
    if (!verb)
        verb = findVerb("--" + asked); // batch
    if (!verb)
        throwUnknown(asked);
    std::string option = "--help";
    std::vector<char*> arguments(words.begin(), words.end());
    arguments.push_back(option.data());
    return verb->command(static_cast<int>(arguments.size()), arguments.data());
}

int dispatch(int argc, char** argv)
{
    std::vector<char*> words(argv, argv + argc);
    bringBatchToFront(words);
    const std::span<char*> given(words.begin() + std::min(argc, 1), words.end());
    if (given.empty())
        openWindow(given, argv);
    const std::string first = given[0];
    if (first == "--help" || first == "-h" || first == "help")
        return help(first == "help" ? given.subspan(1) : std::span<char*>());
    if (first == "--version" || first == "-V") {
        std::cout << programBanner() << '\n';
        return 0;
    }
    if (const cli::Verb* verb = findVerb(first))
        return verb->command(static_cast<int>(given.size()), given.data());
    if (!namesFile(first))
        throwUnknown(first);
    requireThere(first);
    if (isSpec(first) && !hasDisplay())
        throw Error{.what = "there is no display to open a spec in the window",
                    .where = first,
                    .remedy = "run it here: tilescope --batch " + shellWord(first) + " -o FILE.tscope",
                    .kind = ErrorKind::Environment};
    openWindow(given, argv);
}

/// Failing to write to standard output is an error: the output is the result.
void requirePrinted()
{
    std::cout.flush();
    if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return;
    throw Error{.what = "cannot be written",
                .where = "standard output",
                .remedy = "check the space on its disk, or the program that reads it",
                .kind = ErrorKind::Failure};
}

} // namespace

int main(int argc, char** argv)
{
    prepareProcess();
    keepFreedMemory();
    try {
        const int code = dispatch(argc, argv);
        requirePrinted();
        return code;
    } catch (const cli::Cancelled&) {
        return cli::Cancelled::kExitCode;
    } catch (...) {
        Error error = currentError();
        error.what = shortened(error.what);
        error.where = shortened(cli::asNamed(error.where));
        error.remedy = shortened(cli::asNamed(error.remedy));
        std::cerr << error.sentence() << std::endl;
        return error.exitCode();
    }
}
