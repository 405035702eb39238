#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "app/cli/spec_argument.h"
#include "app/cli/sweep_command.h"
#include "core/base/error.h"
#include "core/config/quick.h"
#include "core/session/supervisor/resume.h"

#include <utility>

namespace tilescope::cli {

int batchCommand(int argc, char** argv)
{
    std::string spec;
    SweepArguments sweep;
    std::vector<std::string> settings;
    std::string shard;
    bool quick = false;
    Arguments arguments(
        "--batch SPEC|study:NAME -o FILE [options]",
        "Runs every point of a spec file or a study and appends the results to FILE.",
        "tilescope --batch sweep.yaml -o a.tscope --set steps=20 --set backend='[naive, sdpa]'");
    arguments.positional("SPEC", spec,
                         "a YAML file, - for standard input, study:NAME (tilescope studies), or study:all");
    sweep.addTo(arguments);
    arguments.repeated("--set", settings, "key=value, overrides the spec; [a, b] sweeps; may be repeated");
    arguments.option("--shard", shard, "I/N: only every N-th point, starting with point I, counted from 0");
    arguments.flag(
        "--quick", quick,
        "check that the sweep works with a small edition: few steps, short lengths, lm of size tiny");
    arguments.suggest("SPEC", suggestedStudies);
    arguments.appendix(
        "exit codes: 0 all points ok, oom or skipped; 2 unusable arguments, spec or file; 3 a point\n"
        "ended in error; 4 the machine lacks something requested; 130 cancelled\n\n"
        "A file on a network disk is written to TMPDIR and copied to its place every ten\n"
        "seconds. TILESCOPE_SCRATCH=always does this on every disk, =never on none.\n");
    if (!arguments.parse(argc, argv))
        return 0;
    if (spec.empty())
        throw Error{
            .what = "no spec given", .where = "--batch", .remedy = "write tilescope --batch SPEC -o FILE"};
    sweep.requireUsable();
    std::vector<ExperimentSpec> specs =
        specsOf(spec, quick ? config::Edition::Quick : config::Edition::Full, settings);
    std::vector<session::SweepPoint> points = session::numbered(std::move(specs));
    if (!shard.empty())
        points = session::pointsOf(session::parseShard(shard), std::move(points));
    session::SweepOptions options;
    options.commandLine = commandLineOf(argc, argv);
    return sweep.carryOut(std::move(points), std::move(options));
}

} // namespace tilescope::cli
