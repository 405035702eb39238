#include "app/record/possible_steps.h"

#include <unistd.h>

#include <cstddef>
#include <utility>

namespace tilescope::record {

namespace {

std::uint32_t thisThread()
{
    return static_cast<std::uint32_t>(gettid());
}

} // namespace

void PossibleSteps::note(std::int64_t end, bool isOneAtTheEnd)
{
    constexpr std::size_t kMost = 4096;
    const MutexLock lock(mutex_);
    if (steps_.ends.empty())
        steps_.thread = thisThread();
    if (steps_.thread != thisThread() || steps_.ends.size() == kMost)
        return;
    steps_.ends.push_back(end);
    areStepsAtTheEnd_ = isOneAtTheEnd;
}

PossibleSteps::Steps PossibleSteps::take()
{
    const MutexLock lock(mutex_);
    return steps_.thread == thisThread() ? std::exchange(steps_, {}) : Steps{};
}

PossibleSteps::Steps PossibleSteps::takeAtTheEnd()
{
    const MutexLock lock(mutex_);
    Steps steps = std::exchange(steps_, {});
    return areStepsAtTheEnd_ ? steps : Steps{};
}

} // namespace tilescope::record
