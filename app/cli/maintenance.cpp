#include "core/store/maintenance/maintenance.h"
#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/notes.h"
#include "app/cli/on_host.h"
#include "app/cli/recording.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/import_cache.h"

#include <iostream>

namespace tilescope::cli {

namespace {

void require(bool there, const char* verb, const char* what)
{
    if (!there)
        throw Error{.what = std::string("no ") + what + " was named",
                    .where = std::string("tilescope ") + verb,
                    .remedy = "see --help"};
}

/// The FILE of a verb without other arguments; empty: help was printed.
std::string onlyFile(int argc, char** argv, const char* verb, const char* purpose, const char* example)
{
    std::string file;
    Arguments arguments(std::string(verb) + " FILE", purpose, example);
    arguments.positional("FILE", file, "a .tscope file");
    if (!arguments.parse(argc, argv))
        return {};
    require(!file.empty(), verb, "file");
    return file;
}

constexpr const char* kTagIsOneWord = "join the words with a dash, or use tilescope note for a sentence";

/// The verbs note and tag: FILE RUN TEXT.
/// \param severalWords  what to do if TEXT is several arguments
int annotate(int argc, char** argv, const char* verb, const char* purpose, const char* example,
             const char* severalWords, void (*set)(const std::filesystem::path&, RunId, std::string_view))
{
    std::string file;
    std::string run;
    std::vector<std::string> words;
    Arguments arguments(std::string(verb) + " FILE RUN TEXT", purpose, example);
    arguments.positional("FILE", file, "a .tscope file");
    arguments.positional("RUN", run, "the run's number");
    arguments.positionals("TEXT", words, "the text, as one argument; '' removes it");
    if (!arguments.parse(argc, argv))
        return 0;
    require(!file.empty() && !run.empty(), verb, "file and run");
    requireChangeable(file);
    const RunId number = runNumber(run, std::string("tilescope ") + verb);
    if (words.size() != 1)
        throw Error{.what = words.empty() ? std::string("no text given")
                                          : "'" + words[1] + "' is an extra argument",
                    .where = std::string("tilescope ") + verb,
                    .remedy = words.empty() ? "'' removes the text" : severalWords};
    set(file, number, words.front());
    return 0;
}

void setTag(const std::filesystem::path& file, RunId run, std::string_view tag)
{
    if (tag.find_first_of(" \t\n") != std::string_view::npos)
        throw Error{
            .what = "a tag is one word", .where = "'" + std::string(tag) + "'", .remedy = kTagIsOneWord};
    store::setTag(file, run, tag);
}

} // namespace

int mergeCommand(int argc, char** argv)
{
    std::vector<std::string> files;
    std::string output;
    Arguments arguments("merge FILE… -o OUT",
                        "Copies the runs of files into one, except those that it already contains.",
                        "tilescope merge s0.tscope s1.tscope -o all.tscope");
    arguments.positionals("FILE", files,
                          "files to copy from; not OUT itself; traces of other programs are imported");
    arguments.output("-o,--output", output, "the file to add to; created if it does not exist");
    if (!arguments.parse(argc, argv))
        return 0;
    require(!files.empty(), "merge", "file");
    require(!output.empty(), "merge", "target (-o)");
    const auto recordings = recordingsOf(files);
    std::vector<std::filesystem::path> sources;
    for (const Recording& recording : recordings)
        sources.push_back(recording.file);
    const store::MergeOutcome outcome = store::merge(sources, output);
    notes() << counted(outcome.added, "run") << " added, " << outcome.present << " already in the file -> "
            << escapeForTerminal(output) << '\n';
    return 0;
}

int verifyCommand(int argc, char** argv)
{
    const std::string named =
        onlyFile(argc, argv, "verify", "Reads every row of a file and checks all counts and checksums.",
                 "tilescope verify all.tscope");
    if (named.empty())
        return 0;
    const std::string file = fetchedFile(named).value_or(named).string();
    if (exchange::isForeign(file))
        throw Error{.what = "not a recording; verify checks the rows and checksums of a .tscope file",
                    .where = file,
                    .remedy = "import it first: tilescope import " + shellPath(file) + " -o OUT.tscope"};
    const store::VerifyReport report = store::verify(file);
    for (const std::string& problem : report.problems)
        std::cout << escapeForTerminal(problem) << '\n';
    if (!report.hasChecksums)
        std::cout << "written by an earlier version: its checksums are no longer read, so only its structure "
                     "and its "
                     "numbers of rows were checked; it gets new checksums when it is next written to\n";
    std::cout << escapeForTerminal(named) << ": " << counted(report.runs, "run") << ", "
              << counted(report.rows, "row") << ", " << (report.ok() ? "no damage" : "damaged") << '\n';
    constexpr int kUnusableFile = 2;
    return report.ok() ? 0 : kUnusableFile;
}

int noteCommand(int argc, char** argv)
{
    return annotate(argc, argv, "note", "Sets the note of a run, a sentence.",
                    "tilescope note a.tscope 3 'fan was loud'", "quote the text", store::setNote);
}

int tagCommand(int argc, char** argv)
{
    return annotate(argc, argv, "tag", "Sets the tag of a run, a word.", "tilescope tag a.tscope 3 baseline",
                    kTagIsOneWord, setTag);
}

int deleteCommand(int argc, char** argv)
{
    std::string file;
    std::vector<std::string> runs;
    Arguments arguments(
        "delete FILE RUN…",
        "Removes runs with all their rows; if one is missing, removes none. compact reclaims the space.",
        "tilescope delete a.tscope 3 4");
    arguments.positional("FILE", file, "a .tscope file");
    arguments.positionals("RUN", runs, "numbers of the runs");
    if (!arguments.parse(argc, argv))
        return 0;
    require(!file.empty() && !runs.empty(), "delete", "file and run");
    requireChangeable(file);
    std::vector<RunId> numbers;
    for (const std::string& run : runs)
        numbers.push_back(runNumber(run, "tilescope delete"));
    store::deleteRuns(file, numbers);
    return 0;
}

int compactCommand(int argc, char** argv)
{
    const std::string file =
        onlyFile(argc, argv, "compact", "Rewrites a file without the space of deleted runs.",
                 "tilescope compact a.tscope");
    if (file.empty())
        return 0;
    requireChangeable(file);
    const store::CompactOutcome outcome = store::compact(file);
    notes() << escapeForTerminal(file) << ": " << outcome.before.count << " bytes before, "
            << outcome.after.count << " after\n";
    return 0;
}

} // namespace tilescope::cli
