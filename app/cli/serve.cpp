// serve: the side of Tilescope on another machine that answers a client over ssh.

#include "app/cli/arguments.h"
#include "app/cli/commands.h"
#include "core/base/error.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "core/hosts/server.h"
#include "core/hosts/sweep_request.h"

#include <unistd.h>

#include <filesystem>
#include <optional>

namespace tilescope::cli {

namespace {

std::optional<hosts::GrowingFile> findGrowing(const std::filesystem::path& named)
{
    const auto growing = exchange::GrowingRecording::of(named);
    if (!growing)
        return {};
    return hosts::GrowingFile{.folder = growing->folder, .output = growing->output};
}

} // namespace

int serveCommand(int argc, char** argv)
{
    bool stdio = false;
    std::string job;
    std::string sweep;
    std::string task;
    Arguments arguments("serve --stdio",
                        "Answers a Tilescope on another machine, which starts it over ssh. It opens no port.",
                        "tilescope serve --stdio");
    arguments.flag("--stdio", stdio, "answer on standard input and output until the input ends");
    arguments.option("--job", job, "run the work that lies in this folder");
    arguments.option("--task", task, "run the work that lies in this folder as a task of Slurm");
    arguments.option("--sweep", sweep, "run the sweep that lies in this folder");
    if (!arguments.parse(argc, argv))
        return 0;
    if ((stdio ? 1 : 0) + (job.empty() ? 0 : 1) + (sweep.empty() ? 0 : 1) + (task.empty() ? 0 : 1) != 1)
        throw Error{.what = "needs --stdio",
                    .where = "tilescope serve",
                    .remedy = "another Tilescope starts it: tilescope hosts --help"};
    if (!job.empty())
        return hosts::runJob(job);
    if (!task.empty())
        return hosts::runTask(task);
    if (!sweep.empty())
        return hosts::runSweepOf(sweep);
    return hosts::serve(STDIN_FILENO, STDOUT_FILENO, findGrowing);
}

} // namespace tilescope::cli
