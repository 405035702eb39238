// replay: measures one op of a recording alone.

#include "core/session/supervisor/replay.h"
#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/print_table.h"
#include "app/cli/recording.h"
#include "app/cli/scratch.h"
#include "app/cli/shared_options.h"
#include "core/analysis/work/replayable.h"
#include "core/base/error.h"
#include "core/exchange/work/replay_section.h"
#include "core/session/protocol/point_line.h"
#include "core/session/protocol/stop_signals.h"

#include <csignal>
#include <iostream>

namespace tilescope::cli {

namespace {

constexpr int kCancelled = 130;

ReplayArgument argumentFrom(const analysis::OpArgument& argument, const analysis::OpArguments& all)
{
    using Kind = analysis::OpArgument::Kind;
    ReplayArgument made{.kind = argument.kind == Kind::Literal ? ReplayArgument::Kind::Literal
                                : argument.kind == Kind::List  ? ReplayArgument::Kind::List
                                                               : ReplayArgument::Kind::Tensor,
                        .literal = std::string(argument.literal)};
    for (std::size_t i = argument.first; i < argument.first + argument.count; ++i)
        made.tensors.push_back({std::string(all.types[i]), all.tensors[i].sizes, all.tensors[i].strides});
    return made;
}

ReplayRequest requestFor(const query::ReplayOp& op, DeviceRequest device)
{
    const auto arguments = analysis::parseArguments(op.shapes);
    if (!arguments)
        throw Error{.what = "the recorded arguments of " + op.op + " cannot be read", .where = "--op"};
    ReplayRequest request{.device = device,
                          .op = op.op,
                          .arguments = {},
                          .isPositional = arguments->hasLiterals,
                          .indices = analysis::indexLimit(op.op, *arguments)};
    for (const analysis::OpArgument& argument : arguments->list)
        request.arguments.push_back(argumentFrom(argument, *arguments));
    return request;
}

} // namespace

int replayCommand(int argc, char** argv)
{
    std::string file;
    std::string op;
    std::string run;
    std::string device = "auto";
    std::string format = "table";
    Arguments arguments(
        "replay FILE --op OP [--run N] [--device DEVICE] [--format table|json|csv]",
        "Measures one op of a recording alone, with inputs of the recorded types, sizes and strides, and\n"
        "prints its time beside that in the recording and the least time under the device's ceilings.\n"
        "OP is the name of an op, which stands for its arguments with the most time, or the number of an "
        "op:\n"
        "first_op of `tilescope show FILE roofline --group shape --format json`.",
        "tilescope replay a.tscope --op aten::mm --device cpu");
    arguments.positional("FILE", file, "a .tscope file, or a trace that Tilescope can import");
    arguments.option("--op", op, "name of an op, or its number in the run");
    arguments.option("--run", run, "run with that number (default: the last)");
    deviceOption(arguments, device);
    tableFormatOption(arguments, format);
    if (!arguments.parse(argc, argv))
        return 0;
    if (file.empty() || op.empty())
        throw Error{.what = "needs a file and an op",
                    .where = "replay",
                    .remedy = "tilescope replay FILE --op aten::mm"};
    const Recording recording = recordingOf(file);
    const store::RunReader reader(recording.file);
    exchange::Replayed replayed{
        .op =
            query::replayOp(reader, run.empty() ? std::nullopt : std::optional(runNumber(run, "--run")), op),
        .result = {}};
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    const Scratch scratch;
    auto result = session::replayOp(requestFor(replayed.op, session::deviceFrom(device)),
                                    scratch.file("replay.tscope"), signals.first());
    if (!result)
        return kCancelled;
    replayed.result = std::move(*result);
    const auto shared = std::make_shared<const exchange::Replayed>(std::move(replayed));
    if (format == "table")
        writeReplay(std::cout, *shared);
    else
        printTable(tableOf(shared), format);
    return 0;
}

} // namespace tilescope::cli
