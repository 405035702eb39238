#include "app/cli/play.h"

#include "app/cli/compare.h"
#include "app/cli/scratch.h"
#include "app/cli/window_program.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/base/output_file.h"
#include "core/query/runs/run_tables.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tilescope::cli {

namespace {

/// "svg" or "gif".
std::string formatOf(const std::filesystem::path& output)
{
    const std::string suffix = output.extension().string();
    if (suffix != ".svg" && suffix != ".gif")
        throw Error{.what = "'" + output.string() + "' is neither .svg nor .gif",
                    .where = "--play",
                    .remedy = "give it a name that ends in .svg or .gif"};
    return suffix.substr(1);
}

} // namespace

PlayRequest playOf(const std::string& against, const std::string& align, const std::string& slowdown)
{
    PlayRequest request{.align = align};
    if (!slowdown.empty()) {
        const auto factor = parseNumber<double>(slowdown);
        if (!factor || !(*factor > 0))
            throw Error{.what = "'" + slowdown + "' is not a number above 0",
                        .where = "--slowdown",
                        .remedy = "write 1000 to play a millisecond in a second"};
        request.slowdown = *factor;
    }
    if (against.empty())
        return request;
    const RunAddress address = runAddressOf(against);
    const store::RunReader reader(address.recording.file);
    request.runs.push_back({address.recording, query::chooseRun(reader, address.run).uid});
    request.inputs = address.inputs();
    return request;
}

std::string writePlay(const PlayRequest& request)
{
    const std::string format = formatOf(request.output);
    OutputFile output(request.output, request.inputs);
    nlohmann::ordered_json recipe{
        {"tilescope_timeline", 1},   {"title", "Play"}, {"runs", nlohmann::json::array()},
        {"align_at", request.align}, {"play", format},  {"slowdown", request.slowdown}};
    const Scratch scratch;
    std::vector<std::string> arguments{"--charts", scratch.file("play.json"), "-o", scratch.file("")};
    for (const PlayedRun& run : request.runs) {
        const std::string file = run.recording.file.string();
        recipe["runs"].push_back(run.uid);
        if (std::ranges::find(arguments, file) == arguments.end())
            arguments.push_back(file);
    }
    writeOutput(scratch.file("play.json"), recipe.dump());
    const auto drawn = runWindowProgram(arguments);
    if (!drawn)
        throw Error{.what = "animations need tilescope-gui, which is not installed here",
                    .where = "--play",
                    .remedy = "install the package with the window",
                    .kind = ErrorKind::Environment};
    if (!drawn->well)
        throw Error{.what = drawn->problem,
                    .where = "--play",
                    .kind = drawn->isUsage ? ErrorKind::Usage : ErrorKind::Failure};
    const std::string animation = drawnFile(scratch.file("play." + format));
    if (animation.empty())
        throw Error{.what = "tilescope-gui wrote no animation",
                    .where = "--play",
                    .remedy = "check the space in TMPDIR",
                    .kind = ErrorKind::Failure};
    output.write([&](std::ostream& out) { out << animation; });
    output.commit();
    return captionOf(scratch.file(""), "play");
}

} // namespace tilescope::cli
