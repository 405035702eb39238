// The command line: finds the verb, calls it, prints what went wrong.

#include "app/cli/commands.h"
#include "core/base/error.h"
#include "core/base/paths.h"
#include "core/base/spelling.h"
#include "core/base/version.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <vector>

using namespace tilescope;

namespace {

struct Verb {
    std::string_view name;
    int (*command)(int argc, char** argv);
    std::string_view purpose;
    std::string_view example;
};

constexpr std::array kVerbs{
    Verb{"--batch", cli::batchCommand, "run a spec file or a study",
         "tilescope --batch sweep.yaml -o a.tscope"},
    Verb{"run", cli::runCommand, "run one experiment",
         "tilescope run lm --size tiny --device cpu -o a.tscope"},
    Verb{"show", cli::showCommand, "tables of a file", "tilescope show a.tscope kernels --group family"},
    Verb{"compare", cli::compareCommand, "two runs side by side", "tilescope compare a.tscope:1 a.tscope:2"},
    Verb{"report", cli::reportCommand, "tables, figures and findings of studies, for a paper",
         "tilescope report all.tscope -o writeup"},
    Verb{"export", cli::exportCommand, "a run's memory as a snapshot that PyTorch's memory_viz shows",
         "tilescope export a.tscope --snapshot a.pickle"},
    Verb{"import", cli::importCommand, "a memory snapshot that PyTorch wrote",
         "tilescope import snapshot.pickle -o t.tscope"},
    Verb{"merge", cli::mergeCommand, "several files into one",
         "tilescope merge s0.tscope s1.tscope -o all.tscope"},
    Verb{"verify", cli::verifyCommand, "every count and checksum of a file", "tilescope verify all.tscope"},
    Verb{"note", cli::noteCommand, "a sentence kept with a run", "tilescope note a.tscope 3 'fan was loud'"},
    Verb{"tag", cli::tagCommand, "a word kept with a run", "tilescope tag a.tscope 3 baseline"},
    Verb{"delete", cli::deleteCommand, "runs out of a file", "tilescope delete a.tscope 3 4"},
    Verb{"compact", cli::compactCommand, "give back the space of deleted runs", "tilescope compact a.tscope"},
    Verb{"studies", cli::studiesCommand, "the ready-made sweeps", "tilescope studies"},
    Verb{"presets", cli::presetsCommand, "the model sizes", "tilescope presets"},
    Verb{"doctor", cli::doctorCommand, "what this machine offers and lacks", "tilescope doctor"},
};

void printHelp()
{
    std::cout << programBanner()
              << ": where do the time and the memory of a transformer step go?\n\n"
                 "usage: tilescope [FILE…]            the window (on files)\n"
                 "       tilescope VERB …             VERB --help tells more\n\n";
    for (const Verb& verb : kVerbs) {
        std::cout << "  " << verb.name << std::string(10 - verb.name.size(), ' ') << verb.purpose << '\n'
                  << "            " << verb.example << '\n';
    }
    std::cout
        << "\n  --version   the version of this program\n"
           "\nLibTorch: the engine takes the torch 2.11 folder that TILESCOPE_TORCH names, else its own run "
           "path, the torch\nof python3, that of packaging/dev setup; more in help/cluster.md\n"
           "\nexit codes: 0 all points ok, oom or skipped; 2 unusable arguments, spec or file; 3 a "
           "point ended in\n"
           "error; 4 the machine lacks what was asked for; 130 cancelled\n";
}

/// Becomes the window. Only returns by throwing.
[[noreturn]] void openWindow(char** argv)
{
    const std::filesystem::path window = siblingProgram("TILESCOPE_GUI", "tilescope-gui");
    execv(window.c_str(), argv);
    throw Error{.what = std::string("the window cannot be opened (") + std::strerror(errno) + ")",
                .where = window.string(),
                .mend =
                    "install tilescope-gui beside this program, or see the file with `tilescope show FILE`",
                .kind = ErrorKind::Environment};
}

/// Whether a first argument that is no verb names a file: it exists, or looks like one.
bool namesFile(const std::string& argument)
{
    std::error_code error;
    return std::filesystem::exists(argument, error) || argument.ends_with(".tscope") ||
           argument.find('/') != std::string::npos;
}

[[noreturn]] void throwUnknown(const std::string& argument)
{
    std::vector<std::string_view> words;
    for (const Verb& verb : kVerbs)
        words.push_back(verb.name);
    words.insert(words.end(), {"--help", "--version"});
    throw Error{.what = argument.starts_with('-') ? "unknown option" : "unknown verb, and no such file",
                .where = argument,
                .mend = didYouMean(argument, words)};
}

/// `--batch` may stand anywhere among its options: it becomes the verb, the rest its arguments.
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

int dispatch(int argc, char** argv)
{
    std::vector<char*> words(argv, argv + argc);
    bringBatchToFront(words);
    if (words.size() < 2)
        openWindow(argv);
    const std::string first = words[1];
    if (first == "--help" || first == "-h" || first == "help") {
        printHelp();
        return 0;
    }
    if (first == "--version") {
        std::cout << programBanner() << '\n';
        return 0;
    }
    for (const Verb& verb : kVerbs)
        if (first == verb.name)
            return verb.command(static_cast<int>(words.size()) - 1, words.data() + 1);
    if (!namesFile(first))
        throwUnknown(first);
    openWindow(argv);
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return dispatch(argc, argv);
    } catch (const Error& error) {
        std::cerr << error.sentence() << std::endl;
        return error.exitCode();
    } catch (...) {
        std::cerr << currentExceptionSentence() << std::endl;
        return 3;
    }
}
