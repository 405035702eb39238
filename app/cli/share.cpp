// share: writes a page for people without Tilescope.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/compare.h"
#include "app/cli/file_kind.h"
#include "app/cli/notes.h"
#include "app/cli/shared_options.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/plural.h"
#include "core/base/terminal_text.h"
#include "core/exchange/export/share_page.h"
#include "core/exchange/tables/number.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <ostream>

namespace tilescope::cli {

namespace {

/// The runs to show, in the order of the command line, each once.
std::vector<RunId> chosenRuns(const store::RunReader& reader, const RunAddress& address,
                              const std::vector<std::string>& numbers)
{
    std::vector<RunId> runs;
    if (numbers.empty())
        runs.push_back(query::chooseRun(reader, address.run).run);
    for (const std::string& number : numbers) {
        const RunId run = query::chooseRun(reader, runNumber(number, "--run")).run;
        if (std::ranges::find(runs, run) == runs.end())
            runs.push_back(run);
    }
    return runs;
}

} // namespace

int shareCommand(int argc, char** argv)
{
    std::string file;
    std::string output;
    std::vector<std::string> numbers;
    bool withIdentity = false;
    bool force = false;
    Arguments arguments(
        "share FILE[:RUN] [--run N]… -o OUT.html",
        "Writes one page with timeline, kernel table and memory curve, which any current browser shows\n"
        "without a network. The default is the file's last run.\n"
        "Host, command line and home folders are left out unless --with-identity is given.",
        "tilescope share a.tscope -o a.html");
    arguments.positional("FILE", file, "a .tscope file, optionally with a colon and a run number");
    arguments.repeated("--run", numbers, "a run to show; repeat it for several");
    arguments.output("-o,--output", output, "the page to write: a regular file, not a recording");
    identityOption(arguments, withIdentity);
    arguments.flag("--force", force, "replace a file that is no such page");
    if (!arguments.parse(argc, argv))
        return 0;
    if (file.empty() || output.empty())
        throw Error{
            .what = "needs a file and -o OUT.html", .where = "tilescope share", .remedy = "see --help"};
    const RunAddress address = runAddressOf(file);
    if (address.run && !numbers.empty())
        throw Error{.what = "names runs twice, as FILE:RUN and as --run",
                    .where = "tilescope share",
                    .remedy = "use one of them"};
    if (!force)
        requireSameKind(output, fileKind("html"));
    const store::RunReader reader(address.recording.file);
    const std::vector<RunId> runs = chosenRuns(reader, address, numbers);
    OutputFile page(output, address.inputs());
    const exchange::SharePageFigures figures = page.write([&](std::ostream& out) {
        return exchange::writeSharePage(
            out, reader, runs, {.withIdentity = withIdentity, .title = address.named.filename().string()});
    });
    page.commit();
    notes() << counted(std::int64_t(figures.runs), "run") << " of "
            << escapeForTerminal(address.named.string()) << ": "
            << counted(std::int64_t(figures.boxes), "event") << " on the timeline, "
            << counted(std::int64_t(figures.kernels), "kernel") << " -> " << escapeForTerminal(output) << " ("
            << exchange::sizeText(Bytes{std::int64_t(figures.bytes)}) << ")\n";
    if (figures.untraced > 0)
        notes() << counted(std::int64_t(figures.untraced), "run") << ' '
                << plural(std::int64_t(figures.untraced), "was", "were") << " not traced: no timeline\n";
    for (const RunId run : runs)
        if (const std::string lost = query::lossSentence(reader, run); !lost.empty())
            notes() << escapeForTerminal(lost) << '\n';
    return 0;
}

} // namespace tilescope::cli
