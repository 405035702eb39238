// import: recordings of other programs.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/import_progress.h"
#include "app/cli/notes.h"
#include "app/cli/on_host.h"
#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/importer.h"
#include "core/query/runs/run_tables.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <sstream>

namespace tilescope::cli {

int importCommand(int argc, char** argv)
{
    std::vector<std::string> named;
    std::string output;
    std::string name;
    std::string stepsBy;
    Arguments arguments("import TRACE|FOLDER… -o OUT.tscope",
                        "Reads recordings of other programs and adds them to a file as one run. Several "
                        "files are the ranks of\n"
                        "one program, or a trace and the memory snapshot of the same process; a folder "
                        "stands for its files.\n"
                        "Tilescope recognises a format by its content and writes nothing to the source. A "
                        "source is a regular\n"
                        "file; a memory snapshot has at most 2 GiB.",
                        "tilescope import rank0.json.gz rank1.json.gz -o t.tscope");
    arguments.positionals("TRACE", named, "traces, snapshots, or folders of them");
    arguments.output("-o,--output", output, "the .tscope file to add to; created if it does not exist");
    arguments.option("--name", name, "the name of the run; default: that of the first file");
    arguments.option("--steps-by", stepsBy,
                     "the steps are the ranges of this name, with or without the number at its end; default: "
                     "found");
    if (!arguments.parse(argc, argv))
        return 0;
    if (named.empty() || output.empty())
        throw Error{
            .what = "needs a file and -o OUT.tscope", .where = "tilescope import", .remedy = "see --help"};
    std::vector<std::filesystem::path> paths;
    for (const std::string& each : named)
        if (std::vector<std::filesystem::path> copies = fetchedFiles(each); copies.empty())
            paths.emplace_back(each);
        else
            std::ranges::move(copies, std::back_inserter(paths));
    exchange::ImportResult imported;
    withImportProgress([&](const exchange::ImportWatch& watch) {
        imported = exchange::importFiles(exchange::importableFiles(paths), output, watch, name, {}, stepsBy);
    });
    std::istringstream summary(imported.summary);
    for (std::string line; std::getline(summary, line);)
        notes() << escapeForTerminal(line) << (summary.eof() ? "" : "\n");
    notes() << " -> run " << imported.run.value << " of " << escapeForTerminal(output) << '\n';
    if (const std::string lost = query::lossSentence(store::RunReader(output), imported.run); !lost.empty())
        std::cerr << escapeForTerminal(lost + " List them: tilescope show " + output + " losses.") << '\n';
    return 0;
}

} // namespace tilescope::cli
