#include "core/predict/gradient_groups.h"

#include <algorithm>
#include <utility>

namespace tilescope::predict {

namespace {

constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

} // namespace

GradientGroups::GradientGroups(std::vector<std::vector<std::int32_t>> groups,
                               std::function<void(std::size_t)> ready)
    : groups_(std::move(groups)), ready_(std::move(ready))
{
    for (std::size_t i = 0; i < groups_.size(); ++i)
        for (const std::int32_t leaf : groups_[i]) {
            groupOf_.resize(std::max(groupOf_.size(), static_cast<std::size_t>(leaf) + 1), kNoGroup);
            groupOf_[static_cast<std::size_t>(leaf)] = i;
        }
    reset();
}

void GradientGroups::reset()
{
    missing_.clear();
    for (const auto& group : groups_)
        missing_.push_back(group.size());
    reported_ = 0;
}

void GradientGroups::gradientReady(std::int32_t leaf)
{
    const auto index = static_cast<std::size_t>(leaf);
    if (index >= groupOf_.size() || groupOf_[index] == kNoGroup)
        return;
    --missing_[groupOf_[index]];
    while (reported_ < groups_.size() && missing_[reported_] == 0)
        ready_(reported_++);
}

std::vector<std::vector<std::int32_t>> bucketsOf(const std::vector<std::int64_t>& bytes, std::int64_t most)
{
    std::vector<std::vector<std::int32_t>> buckets;
    std::int64_t sum = 0;
    for (std::size_t leaf = bytes.size(); leaf-- > 0;) {
        if (buckets.empty() || sum + bytes[leaf] > most) {
            buckets.emplace_back();
            sum = 0;
        }
        buckets.back().push_back(static_cast<std::int32_t>(leaf));
        sum += bytes[leaf];
    }
    return buckets;
}

} // namespace tilescope::predict
