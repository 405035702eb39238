// compile: compiles the models of the points with compile: inductor, by running each point for one step.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/import_progress.h"
#include "app/cli/on_host.h"
#include "app/cli/print_table.h"
#include "app/cli/scratch.h"
#include "app/cli/shared_options.h"
#include "app/cli/spec_argument.h"
#include "core/base/error.h"
#include "core/base/terminal_text.h"
#include "core/config/quick.h"
#include "core/config/schema.h"
#include "core/exchange/tables/table.h"
#include "core/model/environment_facts.h"
#include "core/model/text.h"
#include "core/session/protocol/stop_signals.h"
#include "core/session/supervisor/supervisor.h"
#include "core/session/supervisor/sweep_text.h"
#include "core/store/run_reader.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <functional>
#include <iostream>
#include <utility>

namespace tilescope::cli {

namespace {

using exchange::Audience;
using exchange::Cell;
using exchange::Unit;

constexpr int kEnvironmentLacks = 4;

/// The points with a compiled model, each as the shortest run that compiles and checks it. All modes with a backward
/// pass share a model.
std::vector<ExperimentSpec> compiledPoints(const std::vector<ExperimentSpec>& specs)
{
    constexpr double kDay = 86'400;
    std::vector<ExperimentSpec> chosen;
    for (ExperimentSpec spec : specs) {
        if (spec.compile.kind != CompileRequest::Kind::Inductor)
            continue;
        if (spec.mode != Mode::Forward)
            spec.mode = Mode::Both;
        spec.warmup = 0;
        spec.steps = spec.repeat = 1;
        spec.trace = TraceLevel::Off;
        spec.memory = spec.shapes = false;
        spec.counters.clear();
        spec.inside = false;
        spec.timeoutSeconds = kDay;
        chosen.push_back(std::move(spec));
    }
    return config::withoutRepeats(std::move(chosen));
}

/// A point that was run.
struct Compiled {
    ExperimentSpec spec;
    RunResult result;
    std::vector<EnvironmentEntry> facts;

    Cell number(std::string_view key) const
    {
        const std::string fact = factOf(facts, key);
        double value = 0;
        if (std::from_chars(fact.data(), fact.data() + fact.size(), value).ec != std::errc())
            return std::monostate();
        return value;
    }
};

std::vector<Compiled> compiledIn(const std::filesystem::path& file)
{
    const store::RunReader reader(file);
    std::vector<Compiled> all;
    for (const store::RunRecord& run : reader.runs())
        all.push_back({config::fromJson(run.specJson), run.result, reader.environment(run.run)});
    return all;
}

/// \param all  outlives the table
exchange::Table compiledTable(const std::vector<Compiled>& all)
{
    exchange::Table table{.rows = all.size()};
    const auto add = [&](const char* key, const char* title, std::function<Cell(const Compiled&)> cell,
                         Audience audience = Audience::Everyone, Unit unit = Unit::None) {
        table.columns.push_back(
            {.key = key,
             .title = title,
             .cell = [&all, cell = std::move(cell)](std::size_t i) { return cell(all[i]); },
             .unit = unit,
             .audience = audience});
    };
    const auto word = [](auto value) { return Cell(std::string(wordOf(value))); };
    add("size", "size", [](const Compiled& one) { return Cell(one.spec.size); });
    add(
        "d_model", "", [](const Compiled& one) { return Cell(one.spec.dModel); }, Audience::Programs);
    add(
        "layers", "", [](const Compiled& one) { return Cell(one.spec.layers); }, Audience::Programs);
    add("batch", "batch", [](const Compiled& one) { return Cell(one.spec.batch); });
    add("context", "context", [](const Compiled& one) { return Cell(one.spec.context); });
    add("precision", "precision", [word](const Compiled& one) { return word(one.spec.precision); });
    add("mode", "mode", [word](const Compiled& one) { return word(one.spec.mode); });
    add("loss", "loss", [word](const Compiled& one) { return word(one.spec.loss); });
    add("status", "status", [word](const Compiled& one) { return word(one.result.status); });
    add(
        "reason", "",
        [](const Compiled& one) { return one.result.reason.empty() ? Cell() : Cell(one.result.reason); },
        Audience::Programs);
    add(
        "compile_ms", "compiled in", [](const Compiled& one) { return one.number("result.compile_time"); },
        Audience::Everyone, Unit::Milliseconds);
    add("output_error", "output error",
        [](const Compiled& one) { return one.number("result.inductor_output_error"); });
    add("gradient_error", "gradient error",
        [](const Compiled& one) { return one.number("result.inductor_gradient_error"); });
    table.notes = {
        "Errors are differences from the eager model in the Euclidean norm, relative to its norm; that of "
        "gradients is the largest of all parameters."};
    for (const Compiled& one : all) {
        const std::string note = std::string(wordOf(one.result.status)) + ": " + one.result.reason;
        if (!one.result.reason.empty() && std::ranges::find(table.notes, note) == table.notes.end())
            table.notes.push_back(note);
    }
    return table;
}

/// Says on standard error which model is being compiled: each takes minutes.
class Announcer {
public:
    explicit Announcer(const std::vector<session::SweepPoint>& points) : labels_(session::pointLabels(points))
    {
    }

    void take(const session::Event& event) const
    {
        if (const auto* point = std::get_if<session::PointEvent>(&event)) {
            const auto index = static_cast<std::size_t>(point->index);
            std::cerr << "model " << index + 1 << " of " << labels_.size();
            if (!labels_.at(index).empty())
                std::cerr << ": " << escapeForTerminal(labels_.at(index));
            std::cerr << std::endl;
        } else if (const auto* log = std::get_if<session::LogEvent>(&event)) {
            std::cerr << escapeForTerminal(log->text) << std::endl;
        }
    }

private:
    std::vector<std::string> labels_;
};

} // namespace

int compileCommand(int argc, char** argv)
{
    std::string spec;
    std::string format = "table";
    bool quick = false;
    std::string on;
    std::vector<std::string> settings;
    Arguments arguments(
        "compile SPEC|study:NAME [--set key=value …] [--quick] [--format table|json|csv]",
        "Compiles the models of all points with compile: inductor by TorchInductor, and compares their\n"
        "outputs and gradients with those of the eager model. The models are kept in\n"
        "$XDG_CACHE_HOME/tilescope/inductor, otherwise ~/.cache/tilescope/inductor, where runs find them;\n"
        "`tilescope cache clear` removes them. Compiling needs a C++ compiler and a Python with torch, and\n"
        "Triton for a GPU. The Python is that of TILESCOPE_PYTHON, otherwise the one beside LibTorch,\n"
        "otherwise python3. Exit code 0: all are compiled; 3: one failed; 4: one cannot be compiled here.",
        "tilescope compile sweep.yaml --set compile=inductor");
    arguments.positional("SPEC", spec, "a YAML file, - for standard input, or study:NAME");
    arguments.suggest("SPEC", suggestedStudies);
    arguments.repeated("--set", settings, "key=value, overrides the spec; [a, b] sweeps; may be repeated");
    arguments.flag("--quick", quick, "the models of the quick edition");
    arguments.option("--on", on, "the host that compiles them and keeps them (tilescope hosts)");
    arguments.suggest("--on", suggestedHosts);
    tableFormatOption(arguments, format);
    if (!arguments.parse(argc, argv))
        return 0;
    if (spec.empty())
        throw Error{.what = "no spec given", .where = "compile", .remedy = "write tilescope compile SPEC"};
    const std::vector<session::SweepPoint> points = session::numbered(
        compiledPoints(specsOf(spec, quick ? config::Edition::Quick : config::Edition::Full, settings)));
    if (points.empty())
        throw Error{
            .what = "no point has compile: inductor", .where = spec, .remedy = "add --set compile=inductor"};
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    const Scratch scratch;
    session::SweepOptions options;
    options.file = scratch.file("compile.tscope");
    options.commandLine = "tilescope compile";
    options.atOnce = signals.second();
    const Announcer announcer(points);
    session::DoneEvent counts;
    const auto take = [&](const session::Event& event) {
        announcer.take(event);
        if (const auto* done = std::get_if<session::DoneEvent>(&event))
            counts = *done;
    };
    const int code = on.empty() ? session::runSweep(points, options, take, signals.first()).exitCode()
                                : sweepOnHost(on, points, options, take, signals, SayMerge::No);
    std::error_code ignored;
    if (code == Cancelled::kExitCode || !std::filesystem::exists(options.file, ignored))
        return code;
    const std::vector<Compiled> all = compiledIn(options.file);
    printTable(compiledTable(all), format);
    return code == 0 && counts.skipped > 0 ? kEnvironmentLacks : code;
}

} // namespace tilescope::cli
