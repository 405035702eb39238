#include "core/predict/block_schedule.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

namespace tilescope::predict {

namespace {

/// With more blocks per slot than this, the tail is negligible.
constexpr double kManyBlocks = 24;

/// One multiprocessor. Its blocks progress at the same rate, so one number suffices for all: a block that
/// starts at `progress` ends when `progress` has increased by the block's duration.
class Multiprocessor {
public:
    explicit Multiprocessor(double alone) : alone_(alone) {}

    bool isIdle() const { return ends_.empty(); }
    void start(double seconds) { ends_.push(progress_ + seconds); }
    /// When its next block ends if no block is added.
    double nextEnd() const { return now_ + (ends_.top() - progress_) / speed(); }
    void endNext()
    {
        now_ = nextEnd();
        progress_ = ends_.top();
        ends_.pop();
    }

private:
    double speed() const
    {
        const auto blocks = static_cast<double>(ends_.size());
        return std::min(1.0, alone_ * blocks) / blocks;
    }

    double alone_;
    double now_ = 0;
    double progress_ = 0;
    std::priority_queue<double, std::vector<double>, std::greater<>> ends_;
};

std::vector<double> inOrder(const BlockGrid& grid, bool longestFirst)
{
    std::vector<double> blocks;
    blocks.reserve(grid.seconds.size() * static_cast<std::size_t>(grid.heads));
    if (!longestFirst) {
        for (std::int64_t head = 0; head < grid.heads; ++head)
            blocks.insert(blocks.end(), grid.seconds.begin(), grid.seconds.end());
        return blocks;
    }
    for (auto tile = grid.seconds.rbegin(); tile != grid.seconds.rend(); ++tile)
        blocks.insert(blocks.end(), static_cast<std::size_t>(grid.heads), *tile);
    return blocks;
}

double simulated(const std::vector<double>& blocks, const BlockSharing& sharing, int multiprocessors)
{
    std::vector<Multiprocessor> device(static_cast<std::size_t>(multiprocessors),
                                       Multiprocessor(sharing.alone));
    std::size_t next = 0;
    for (int place = 0; place < sharing.resident; ++place)
        for (std::size_t i = 0; i < device.size() && next < blocks.size(); ++i)
            device[i].start(blocks[next++]);
    using End = std::pair<double, std::size_t>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    for (std::size_t i = 0; i < device.size(); ++i)
        if (!device[i].isIdle())
            ends.emplace(device[i].nextEnd(), i);
    double last = 0;
    while (!ends.empty()) {
        const auto [time, i] = ends.top();
        ends.pop();
        last = time;
        device[i].endNext();
        if (next < blocks.size())
            device[i].start(blocks[next++]);
        if (!device[i].isIdle())
            ends.emplace(device[i].nextEnd(), i);
    }
    return last;
}

} // namespace

double scheduledSeconds(const BlockGrid& grid, const BlockSharing& sharing, int multiprocessors)
{
    const double head = std::accumulate(grid.seconds.begin(), grid.seconds.end(), 0.0);
    const auto blocks = static_cast<double>(grid.seconds.size()) * static_cast<double>(grid.heads);
    if (blocks > kManyBlocks * sharing.resident * multiprocessors) {
        const double mean = head / static_cast<double>(grid.seconds.size());
        // On average, half a block of idle time at the end.
        return head * static_cast<double>(grid.heads) / multiprocessors + mean * sharing.resident / 2;
    }
    return simulated(inOrder(grid, sharing.longestFirst), sharing, multiprocessors);
}

} // namespace tilescope::predict
