#include "core/session/supervisor/slurm_job.h"

#include "core/base/error.h"
#include "core/base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tilescope::session {

namespace {

constexpr std::size_t kMostNodes = 100'000;

bool hasSeveralNodes(const Variable& variable)
{
    const auto number = [&](const char* name) { return parseNumber<int>(variable(name)).value_or(1); };
    // Several tasks of one job step are programs of their own: shards of a sweep, for instance.
    return number("SLURM_NNODES") > 1 && number("SLURM_STEP_NUM_TASKS") == 1;
}

} // namespace

std::optional<std::vector<int>> tasksPerNode(std::string_view text)
{
    std::vector<int> numbers;
    while (!text.empty()) {
        std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        int times = 1;
        if (const std::size_t bracket = part.find("(x"); bracket != std::string_view::npos) {
            if (!part.ends_with(')'))
                return {};
            times = parseNumber<int>(part.substr(bracket + 2, part.size() - bracket - 3)).value_or(0);
            part = part.substr(0, bracket);
        }
        const int number = parseNumber<int>(part).value_or(0);
        if (number < 1 || times < 1 || numbers.size() + static_cast<std::size_t>(times) > kMostNodes)
            return {};
        numbers.insert(numbers.end(), static_cast<std::size_t>(times), number);
    }
    return numbers;
}

std::vector<RankPlace> placesOf(int ranks, const Variable& variable)
{
    std::vector<int> tasks{ranks};
    if (hasSeveralNodes(variable)) {
        const std::string text = variable("SLURM_TASKS_PER_NODE");
        const auto numbers = tasksPerNode(text);
        if (!numbers)
            throw Error{.what = "'" + text + "' does not give the tasks of each node",
                        .where = "SLURM_TASKS_PER_NODE",
                        .remedy = "submit the job with --ntasks-per-node"};
        tasks = *numbers;
        const std::int64_t all = std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0});
        if (all < ranks)
            throw Error{.what = fmt::format("the Slurm job has {} tasks on {} nodes, too few for {} ranks",
                                            all, tasks.size(), ranks),
                        .where = "gpus",
                        .remedy = fmt::format("submit it with --ntasks={}, or run fewer ranks", ranks)};
        if (tasks.front() < ranks && variable("SLURM_NODEID") != "0")
            throw Error{.what = "ranks on several nodes are started from the first node of a Slurm job",
                        .where = "gpus",
                        .remedy = "run this command in a batch script (sbatch), without srun in front of it"};
    }
    std::vector<RankPlace> places;
    for (int node = 0; static_cast<int>(places.size()) < ranks; ++node) {
        const int here =
            std::min(tasks[static_cast<std::size_t>(node)], ranks - static_cast<int>(places.size()));
        for (int local = 0; local < here; ++local)
            places.push_back({.node = node, .localRank = local, .localSize = here});
    }
    return places;
}

std::vector<std::string> srunOn(int node)
{
    // The rank shares what the job has on the node with the ranks beside it; each takes the GPU of its number.
    return {"srun",        "--relative=" + std::to_string(node),
            "--nodes=1",   "--ntasks=1",
            "--overlap",   "--mem=0",
            "--mpi=none",  "--cpu-bind=none",
            "--export=ALL"};
}

} // namespace tilescope::session
