#include "core/analysis/path/loaded_batches.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

using namespace literals;

constexpr Nanoseconds kLongestTake = 200'000_ns; ///< of a batch that is ready
constexpr Nanoseconds kShortestDelay = 50'000_ns;

} // namespace

std::vector<std::optional<LoadedBatch>> loadedBatches(std::span<const Interval> taken,
                                                      std::optional<Nanoseconds> shortest)
{
    std::vector<std::optional<LoadedBatch>> batches(taken.size());
    if (taken.size() < 2)
        return batches;
    Nanoseconds take = std::min(kLongestTake, shortest.value_or(kLongestTake));
    for (const Interval& each : taken)
        take = std::min(take, each.length());
    // If none is as short as a batch that is ready takes at most, what is longer has waited.
    const Nanoseconds delay = take < kLongestTake ? std::max(kShortestDelay, take / 2) : Nanoseconds(0);
    const auto isLate = [&](std::size_t i) { return taken[i].length() > take + delay; };
    std::vector<Nanoseconds> times;
    for (std::size_t i = 1; i < taken.size(); ++i)
        if (isLate(i - 1) && isLate(i))
            times.push_back(taken[i].end - taken[i - 1].end);
    if (times.empty())
        return batches;
    const auto middle = times.begin() + std::ssize(times) / 2;
    std::ranges::nth_element(times, middle);
    const Nanoseconds usual = *middle;
    std::optional<Timestamp> before; // when the batch before was ready
    for (std::size_t i = 0; i < taken.size(); ++i) {
        const bool late = isLate(i);
        if (!late && !before)
            continue;
        const Timestamp ready = late ? taken[i].end - take : std::min(taken[i].start, *before + usual);
        // Of batches that are late one after the other, the time is exact.
        const bool isExact = late && i > 0 && isLate(i - 1);
        Timestamp start = isExact ? *before : ready - usual;
        if (late)
            start = std::min(start, taken[i].start); // it is loaded at least while the thread waits for it
        if (before)
            start = std::max(start, *before);
        batches[i] = LoadedBatch{.loading = {std::min(start, ready), ready}, .isLate = late};
        before = ready;
    }
    return batches;
}

} // namespace tilescope::analysis
