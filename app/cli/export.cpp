// export: a run in the formats of other tools.

#include "app/cli/arguments.h"
#include "app/cli/arrow_tables.h"
#include "app/cli/commands.h"
#include "app/cli/compare.h"
#include "app/cli/file_kind.h"
#include "app/cli/notes.h"
#include "app/cli/shared_options.h"
#include "core/base/error.h"
#include "core/base/named_output.h"
#include "core/base/number_text.h"
#include "core/base/output_file.h"
#include "core/base/output_folder.h"
#include "core/base/plural.h"
#include "core/base/temporary_path.h"
#include "core/base/terminal_text.h"
#include "core/exchange/export/export_text.h"
#include "core/exchange/export/kineto_export.h"
#include "core/exchange/export/perfetto_export.h"
#include "core/exchange/export/snapshot_export.h"
#include "core/exchange/export/stack_formats.h"
#include "core/exchange/tables/number.h"
#include "core/query/runs/run_tables.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

namespace tilescope::cli {

namespace {

using exchange::sizeText;

/// The parsed arguments and the run to export.
struct ExportRequest {
    const store::RunReader& reader;
    Recording recording;
    std::filesystem::path named; ///< the file as the user wrote it
    const store::RunRecord& run;
    std::string output;
    std::string shown;   ///< the output in messages
    std::ostream& notes; ///< where messages go: not to standard output if the export does
    std::string at;
    exchange::ExportOptions options;
};

std::string exported(const ExportRequest& request)
{
    return "run " + std::to_string(request.run.run.value) + " of " +
           escapeForTerminal(request.named.string()) + ": ";
}

exchange::SnapshotMoment momentOf(const std::string& at)
{
    if (at == "end")
        return {};
    if (at == "peak")
        return {.peak = true};
    const auto nanoseconds = parseNumber<std::int64_t>(at);
    if (!nanoseconds || *nanoseconds < 0)
        throw Error{.what = "'" + at + "' is not a point in time",
                    .where = "--at",
                    .remedy = "write end, peak, or nanoseconds after the run's first event"};
    return {.at = Nanoseconds(*nanoseconds)};
}

void exportSnapshot(const ExportRequest& request)
{
    const exchange::SnapshotMoment moment = momentOf(request.at);
    OutputFile output(request.output, request.options.inputs);
    const exchange::SnapshotFigures figures = output.write([&](std::ostream& out) {
        return exchange::writeSnapshot(out, request.reader, request.run.run, moment);
    });
    output.commit();
    request.notes << exported(request) << counted(figures.events, "event") << ", "
                  << counted(figures.segments, "segment") << ", " << counted(figures.blocks, "block")
                  << " with " << sizeText(figures.allocated) << ' ' << request.run.traits().heldWord() << " ("
                  << counted(figures.allocated.count, "byte") << "), " << sizeText(figures.reserved)
                  << " reserved -> " << escapeForTerminal(request.shown) << '\n';
    if (figures.unknown.count > 0)
        request.notes << sizeText(figures.unknown)
                      << " of it is in no recorded block; one block represents it\n";
    if (figures.madeUpSegments)
        request.notes << "the run has no segments: each block gets its own segment\n";
    if (figures.inconsistent > 0)
        request.notes << counted(figures.inconsistent, "event")
                      << plural(figures.inconsistent, " does", " do") << " not fit the recorded segments\n";
}

std::string readingsText(std::int64_t readings)
{
    return readings > 0 ? ", " + counted(readings, "counter reading") : "";
}

void exportPerfetto(const ExportRequest& request)
{
    OutputFile output(request.output, request.options.inputs);
    const exchange::PerfettoFigures figures = output.write([&](std::ostream& out) {
        return exchange::writePerfetto(out, request.reader, request.run, request.options);
    });
    output.commit();
    request.notes << exported(request) << counted(figures.gpuEvents, "GPU event") << ", "
                  << counted(figures.slices, "slice") << ", "
                  << counted(figures.launches, "launch", "launches") << ", " << counted(figures.flows, "flow")
                  << ", " << counted(figures.counters, "memory value") << readingsText(figures.readings)
                  << " -> " << escapeForTerminal(request.shown) << '\n';
    if (figures.moreTracks > 0)
        request.notes << counted(figures.moreTracks, "further track")
                      << plural(figures.moreTracks, " holds", " hold")
                      << " slices that overlap others of their thread\n";
}

void exportKineto(const ExportRequest& request)
{
    const exchange::KinetoFigures figures =
        exchange::writeKineto(request.output, request.reader, request.run, request.options);
    request.notes << exported(request) << counted(figures.gpuEvents, "GPU event") << ", "
                  << counted(figures.hostEvents, "host event") << ", "
                  << counted(figures.memory, "memory event") << ", " << counted(figures.waits, "wait")
                  << readingsText(figures.readings) << " ->";
    for (const std::filesystem::path& file : figures.files)
        request.notes << ' '
                      << escapeForTerminal(request.shown == request.output ? file.string() : request.shown);
    request.notes << '\n';
    if (figures.launches > 0)
        request.notes << counted(figures.launches, "launch", "launches")
                      << plural(figures.launches, " was", " were")
                      << " recorded without their calls: calls of 0 ns stand for them\n";
    if (figures.leftOut > 0)
        request.notes << counted(figures.leftOut, "event")
                      << " of the allocator left out: the format has only allocations and frees\n";
}

void exportArrow(const ExportRequest& request)
{
    OutputFolder output(request.output, request.options.inputs);
    const std::string tables =
        writeArrow(output.draft(), request.reader.file(), request.run.run, request.options.withIdentity);
    output.commit();
    request.notes << exported(request) << "rows of " << tables << " -> " << escapeForTerminal(request.shown)
                  << '\n';
}

void exportStacks(const ExportRequest& request,
                  const std::function<void(std::ostream&, const exchange::ExportedTree&)>& write)
{
    OutputFile output(request.output, request.options.inputs);
    const exchange::ExportedTree stacks =
        exchange::exportedStacks(request.reader, request.run, request.options);
    output.write([&](std::ostream& out) { write(out, stacks); });
    output.commit();
    const exchange::ExportedWords words = exchange::wordsOf(stacks);
    const bool isTime = stacks.weight == query::CallWeight::Time;
    const std::string what = !isTime ? words.title
                             : stacks.onGpu
                                 ? counted(stacks.tree.totalCount(), "GPU activity", "GPU activities")
                                 : counted(stacks.tree.totalCount(), "op");
    const std::string time = exchange::withUnit(static_cast<double>(stacks.tree.totalAmount()), words.shown);
    request.notes << exported(request) << what << (isTime ? " of " : ": ") << time << " -> "
                  << escapeForTerminal(request.shown) << '\n';
}

void exportFolded(const ExportRequest& request)
{
    exportStacks(request, exchange::writeFolded);
}

void exportSpeedscope(const ExportRequest& request)
{
    exportStacks(request, [&](std::ostream& out, const exchange::ExportedTree& stacks) {
        exchange::writeSpeedscope(out, stacks,
                                  exchange::exportedText(request.run.name, request.options.withIdentity));
    });
}

void exportPprof(const ExportRequest& request)
{
    exportStacks(request, [&](std::ostream& out, const exchange::ExportedTree& stacks) {
        exchange::writePprof(out, stacks, request.run.startedUnixNs);
    });
}

struct ExportFormat {
    const char* option;
    void (*write)(const ExportRequest&);
    const char* help;
    bool isFile = true;   ///< one file, which may be standard output
    bool isBinary = true; ///< of no use on a terminal
    bool isOfStacks = false;
};

constexpr std::array kExportFormats{
    ExportFormat{"--perfetto", exportPerfetto, "OUT.pftrace: timeline for ui.perfetto.dev"},
    ExportFormat{
        "--kineto", exportKineto,
        "OUT.json[.gz]: trace like PyTorch's profiler, for HolisticTraceAnalysis; several processes: one "
        "file each, OUT_rank0.json …",
        true, false},
    ExportFormat{
        "--arrow", exportArrow,
        "OUTFOLDER: tables for pandas, polars and DuckDB, an Arrow file each; needs Python with PyArrow",
        false},
    ExportFormat{
        "--folded", exportFolded,
        "OUT.txt: GPU time by stack, without a GPU self time of ops, for flamegraph.pl and similar programs",
        true, false, true},
    ExportFormat{"--speedscope", exportSpeedscope, "OUT.json: the same for speedscope.app", true, false,
                 true},
    ExportFormat{"--pprof", exportPprof, "OUT.pb.gz: the same for pprof", true, true, true},
    ExportFormat{"--snapshot", exportSnapshot, "OUT.pickle: memory snapshot for PyTorch's memory_viz"},
};

std::string optionList()
{
    std::string list;
    for (const ExportFormat& format : kExportFormats)
        list += (list.empty() ? "" : ", ") + std::string(format.option);
    return list;
}

/// Writes to a temporary file and then to standard output, so that a failed export prints nothing.
void exportToStandardOutput(const ExportFormat& format, ExportRequest request)
{
    const std::string where = std::string(format.option) + " -";
    if (!format.isFile)
        throw Error{.what = "cannot be written to standard output",
                    .where = where,
                    .remedy = "name the output; write ./- for one named -"};
    if (format.isBinary && isatty(STDOUT_FILENO) != 0)
        throw Error{.what = "is binary, which a terminal cannot show",
                    .where = where,
                    .remedy = "send it to a program or a file, or name the output"};
    const TemporaryPath folder(std::filesystem::temp_directory_path() / "export",
                               TemporaryPath::Kind::Folder);
    request.output = (folder.path() / "run").string();
    request.shown = "standard output";
    namingOutput(request.output, request.shown, [&] { format.write(request); });
    std::vector<std::filesystem::path> files;
    for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder.path()))
        files.push_back(entry.path());
    if (files.size() != 1)
        throw Error{.what = "needs " + counted(std::ssize(files), "file") + ", one for each process",
                    .where = where,
                    .remedy = "name the output"};
    if (std::filesystem::file_size(files.front()) > 0) // an empty buffer would be an error of the stream
        std::cout << std::ifstream(files.front(), std::ios::binary).rdbuf();
}

} // namespace

int exportCommand(int argc, char** argv)
{
    std::string file;
    std::string run;
    std::string at = "end";
    std::string weight = "time";
    bool withIdentity = false;
    bool force = false;
    std::array<std::string, kExportFormats.size()> outputs;
    Arguments arguments("export FILE[:RUN] --FORMAT OUT",
                        "Writes a run in the format of another tool; exactly one format. The default is the "
                        "file's last run.\n"
                        "OUT - is standard output. Host, command line and home folders are left out unless\n"
                        "--with-identity is given.",
                        "tilescope export a.tscope --perfetto a.pftrace");
    arguments.positional("FILE", file, "a .tscope file, optionally with a colon and a run number");
    arguments.option("--run", run, "the run's number, instead of FILE:RUN");
    for (std::size_t i = 0; i < kExportFormats.size(); ++i)
        arguments.output(kExportFormats.at(i).option, outputs.at(i), kExportFormats.at(i).help, true);
    arguments.option("--at", at,
                     "with --snapshot: when to take the blocks: end of the recording (the default), peak, or "
                     "that many ns after the run's first event");
    arguments.choice("--weight", weight, {"time", "host", "allocated", "flops", "bytes", "idle", "samples"},
                     "with --folded, --speedscope and --pprof: what stacks add up, as in show tree");
    identityOption(arguments, withIdentity);
    arguments.flag("--force", force, "replace a file of another kind");
    if (!arguments.parse(argc, argv))
        return 0;
    const auto isGiven = [](const std::string& output) { return !output.empty(); };
    if (file.empty() || std::ranges::count_if(outputs, isGiven) != 1)
        throw Error{.what = "needs a file and exactly one of " + optionList(),
                    .where = "tilescope export",
                    .remedy = "see --help"};
    const RunAddress address = runAddressOf(file);
    const auto number = run.empty() ? std::nullopt : std::optional(runNumber(run, "--run"));
    if (number && address.run && *number != *address.run)
        throw Error{.what = "names two runs, " + std::to_string(address.run->value) + " and " + run,
                    .where = "tilescope export",
                    .remedy = "leave out --run"};
    const store::RunReader reader(address.recording.file);
    const store::RunRecord record = query::chooseRun(reader, number ? number : address.run);
    const auto chosen = static_cast<std::size_t>(std::ranges::find_if(outputs, isGiven) - outputs.begin());
    const ExportFormat& format = kExportFormats.at(chosen);
    const std::string& output = outputs.at(chosen);
    if (weight != "time" && !format.isOfStacks)
        throw Error{.what = std::string(format.option) + " does not support --weight",
                    .where = "tilescope export",
                    .remedy = "--folded, --speedscope and --pprof do"};
    const bool isStandard = output == "-";
    const ExportRequest request{.reader = reader,
                                .recording = address.recording,
                                .named = address.named,
                                .run = record,
                                .output = output,
                                .shown = output,
                                .notes = isStandard && !isQuiet() ? std::cerr : notes(),
                                .at = at,
                                .options = {.withIdentity = withIdentity,
                                            .weight = query::callWeightOf(weight),
                                            .inputs = address.inputs()}};
    if (isStandard)
        exportToStandardOutput(format, request);
    else {
        if (!force)
            requireSameKind(output, fileKind(format.option));
        format.write(request);
    }
    if (const std::string lost = query::lossSentence(reader, record.run); !lost.empty())
        std::cerr << escapeForTerminal(lost) << '\n';
    return 0;
}

} // namespace tilescope::cli
