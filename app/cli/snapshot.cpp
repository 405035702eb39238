// export and import: files of other tools.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/compare.h"
#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/plural.h"
#include "core/base/terminal_text.h"
#include "core/exchange/export/snapshot_export.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/number.h"
#include "core/query/memory/held_word.h"
#include "core/query/runs/run_tables.h"

#include <array>
#include <charconv>
#include <iostream>

namespace tilescope::cli {

namespace {

std::string sizeText(Bytes bytes)
{
    return exchange::withUnit(static_cast<double>(bytes.count), exchange::Unit::Bytes);
}

exchange::SnapshotMoment momentOf(const std::string& at)
{
    if (at == "end")
        return {};
    if (at == "peak")
        return {.peak = true};
    std::int64_t nanoseconds = 0;
    const auto [end, error] = std::from_chars(at.data(), at.data() + at.size(), nanoseconds);
    if (error != std::errc{} || end != at.data() + at.size() || nanoseconds < 0)
        throw Error{.what = "'" + at + "' is not a point in time",
                    .where = "--at",
                    .mend = "write end, peak, or nanoseconds after the run's first event"};
    return {.at = Nanoseconds(nanoseconds)};
}

} // namespace

int exportCommand(int argc, char** argv)
{
    std::string file;
    std::string snapshot;
    std::string at = "end";
    Arguments arguments(
        "export FILE[:RUN] --snapshot OUT.pickle [--at end|peak|NS]",
        "Writes a run's memory as a snapshot of PyTorch's allocator: segments, blocks and the events\n"
        "of the traced steps, with op and ranges as stack frames. The default is the file's last run.\n"
        "To view it: python -m torch.cuda._memory_viz trace_plot OUT.pickle",
        "tilescope export a.tscope --snapshot a.pickle");
    arguments.positional("FILE", file, "a .tscope file, optionally with a colon and a run number");
    arguments.output("--snapshot", snapshot, "the pickle to write: a regular file, not a recording");
    arguments.option("--at", at,
                     "when to take the blocks: end of the recording (the default), peak, or that "
                     "many ns after the run's first event");
    if (!arguments.parse(argc, argv))
        return 0;
    if (file.empty() || snapshot.empty())
        throw Error{.what = "needs a file and --snapshot OUT.pickle",
                    .where = "tilescope export",
                    .mend = "see --help"};
    const RunAddress address = runAddressOf(file);
    const store::RunReader reader(address.file);
    const store::RunRecord record = query::chooseRun(reader, address.run);
    const RunId run = record.run;
    OutputFile output(snapshot, std::array{address.file});
    const exchange::SnapshotFigures figures = output.write(
        [&](std::ostream& out) { return exchange::writeSnapshot(out, reader, run, momentOf(at)); });
    output.commit();
    std::cout << "run " << run.value << " of " << escapeForTerminal(address.file.string()) << ": "
              << counted(figures.events, "event") << ", " << counted(figures.segments, "segment") << ", "
              << counted(figures.blocks, "block") << " with " << sizeText(figures.allocated) << ' '
              << query::heldWord(record.workload) << " (" << counted(figures.allocated.count, "byte") << "), "
              << sizeText(figures.reserved) << " reserved -> " << escapeForTerminal(snapshot) << '\n';
    if (figures.unknown.count > 0)
        std::cout << sizeText(figures.unknown) << " of it is in no recorded block; one block represents it\n";
    if (figures.madeUpSegments)
        std::cout << "the run has no segments: each block gets its own segment\n";
    if (figures.inconsistent > 0)
        std::cout << counted(figures.inconsistent, "event") << plural(figures.inconsistent, " does", " do")
                  << " not fit the recorded segments\n";
    return 0;
}

int importCommand(int argc, char** argv)
{
    std::vector<std::string> named;
    std::string output;
    Arguments arguments("import FILE|FOLDER… -o OUT.tscope",
                        "Reads recordings of other programs and adds them to a file as one run. Several "
                        "files are the ranks of\n"
                        "one program, or a trace and the memory snapshot of the same process; a folder "
                        "stands for its files.\n"
                        "Tilescope recognises a format by its content and writes nothing to the source.",
                        "tilescope import rank0.json.gz rank1.json.gz -o t.tscope");
    arguments.positionals("FILE", named, "traces, snapshots, or folders of them");
    arguments.output("-o,--output", output, "the .tscope file to add to; created if it does not exist");
    if (!arguments.parse(argc, argv))
        return 0;
    if (named.empty() || output.empty())
        throw Error{
            .what = "needs a file and -o OUT.tscope", .where = "tilescope import", .mend = "see --help"};
    const std::vector<std::filesystem::path> paths(named.begin(), named.end());
    const exchange::ImportResult imported = exchange::importFiles(exchange::importableFiles(paths), output);
    std::cout << escapeForTerminal(imported.summary) << " -> run " << imported.run.value << " of "
              << escapeForTerminal(output) << '\n';
    return 0;
}

} // namespace tilescope::cli
