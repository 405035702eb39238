#include "core/model/run_counts.h"

#include "core/model/run_status.h"

#include <string_view>
#include <utility>

namespace tilescope {

void RunCounts::add(RunStatus status)
{
    ++runs;
    switch (status) {
    case RunStatus::Ok:
        ++ok;
        return;
    case RunStatus::Oom:
        ++outOfMemory;
        return;
    case RunStatus::Skipped:
        ++skipped;
        return;
    case RunStatus::Running:
        ++running;
        return;
    case RunStatus::Cancelled:
        ++cancelled;
        return;
    case RunStatus::Error:
    case RunStatus::Interrupted:
        ++failed;
        return;
    }
}

std::string RunCounts::textOf(std::size_t points) const
{
    return std::to_string(ok) + " of " + std::to_string(points) + " ok" + others();
}

std::string RunCounts::others() const
{
    const std::pair<std::size_t, std::string_view> counts[] = {
        {outOfMemory, traitsOf(RunStatus::Oom).counted},
        {skipped, traitsOf(RunStatus::Skipped).counted},
        {failed, "failed"},
        {cancelled, traitsOf(RunStatus::Cancelled).counted},
        {running, traitsOf(RunStatus::Running).counted}};
    std::string text;
    for (const auto& [count, word] : counts)
        if (count > 0)
            text.append(", ").append(std::to_string(count)).append(" ").append(word);
    return text;
}

} // namespace tilescope
