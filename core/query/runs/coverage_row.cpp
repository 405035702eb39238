#include "core/query/runs/coverage_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilescope::query {

namespace {

constexpr std::int32_t kWhole = 1 << 20; ///< a fully covered pixel
constexpr int kSteps = 8;                ///< shares are rounded to 1 / kSteps

std::int32_t part(float of)
{
    return static_cast<std::int32_t>(std::lround(of * static_cast<float>(kWhole)));
}

} // namespace

void CoverageRow::start(int width, std::size_t groups)
{
    width_ = width;
    for (Sums* sums : {&row_, &kept_}) {
        sums->points.assign(stride() * groups, 0);
        sums->steps.assign(stride() * groups, 0);
        sums->isEdge.assign(stride(), 0);
    }
    keptOf_.assign(groups, 0);
    isListed_.assign(groups, 0);
    used_.clear();
}

void CoverageRow::use(std::uint8_t group)
{
    if (isListed_[group] == 0) {
        isListed_[group] = 1;
        used_.push_back(group);
    }
}

void CoverageRow::put(const Sliver& sliver, Sums& sums) const
{
    std::int32_t* points = sums.points.data() + stride() * sliver.group;
    std::int32_t* steps = sums.steps.data() + stride() * sliver.group;
    // Uses the absolute height, so that removing subtracts exactly what adding added.
    const float height = std::abs(sliver.height);
    const std::int32_t sign = sliver.height < 0 ? -1 : 1;
    const float right = sliver.left + sliver.width;
    const int first = std::clamp(static_cast<int>(sliver.left), 0, width_ - 1);
    const int last = std::clamp(static_cast<int>(right), first, width_);
    if (first == last) {
        points[first] += sign * std::max(1, part(height * sliver.width));
    } else {
        const std::int32_t whole = std::max(1, part(height));
        points[first] += sign * std::max(1, part(height * (static_cast<float>(first + 1) - sliver.left)));
        points[last] += sign * part(height * std::max(0.0F, right - static_cast<float>(last)));
        steps[first + 1] += sign * whole;
        steps[last] -= sign * whole;
    }
    sums.isEdge[static_cast<std::size_t>(first)] = 1;
    sums.isEdge[static_cast<std::size_t>(first) + 1] = 1;
    sums.isEdge[static_cast<std::size_t>(last)] = 1;
    sums.isEdge[static_cast<std::size_t>(last) + 1] = 1;
}

void CoverageRow::addStaying(const Sliver& sliver)
{
    put(sliver, kept_);
    put(sliver, row_);
    const int change = sliver.height < 0 ? -1 : 1;
    keptOf_[sliver.group] += change;
    use(sliver.group);
}

void CoverageRow::add(const Sliver& sliver)
{
    put(sliver, row_);
    use(sliver.group);
}

void CoverageRow::finish(int row, std::vector<MergedMemory>& out)
{
    const std::size_t begun = out.size();
    sums_.assign(used_.size(), 0);
    std::int32_t all = 0;
    std::uint8_t group = 0;
    int level = 0; // of the last run
    for (int x = 0; x < width_;) {
        if (row_.isEdge[static_cast<std::size_t>(x)] != 0) {
            all = 0;
            std::int32_t most = 0;
            for (std::size_t i = 0; i < used_.size(); ++i) {
                const std::size_t at = stride() * used_[i] + static_cast<std::size_t>(x);
                sums_[i] += row_.steps[at];
                const std::int32_t here = sums_[i] + row_.points[at];
                all += here;
                if (here > most) {
                    most = here;
                    group = used_[i];
                }
            }
        }
        // The columns up to the next edge equal this one. A column with points is followed by an edge.
        const auto* edges = row_.isEdge.data();
        const auto* next = static_cast<const std::uint8_t*>(
            std::memchr(edges + x + 1, 1, static_cast<std::size_t>(width_ - x)));
        const int until = next == nullptr ? width_ : std::min(width_, static_cast<int>(next - edges));
        if (all > 0) {
            const float share = static_cast<float>(all) / static_cast<float>(kWhole);
            const int wanted = (std::min(all, kWhole) * kSteps + kWhole - 1) / kWhole;
            MergedMemory* run = out.size() > begun ? &out.back() : nullptr;
            if (run != nullptr && run->to == x && run->group == group && level == wanted) {
                const auto length = static_cast<float>(run->to - run->from);
                const auto more = static_cast<float>(until - x);
                run->share = (run->share * length + share * more) / (length + more);
                run->to = until;
            } else {
                out.push_back({row, x, until, group, share});
                level = wanted;
            }
        }
        x = until;
    }
    // Prepares the sums for the next row, which begins with the slivers that stay.
    const auto length = static_cast<std::ptrdiff_t>(stride());
    std::erase_if(used_, [&](std::uint8_t which) {
        const auto from = static_cast<std::ptrdiff_t>(stride() * which);
        std::copy_n(kept_.points.begin() + from, length, row_.points.begin() + from);
        std::copy_n(kept_.steps.begin() + from, length, row_.steps.begin() + from);
        isListed_[which] = keptOf_[which] > 0 ? 1 : 0;
        return isListed_[which] == 0;
    });
    row_.isEdge = kept_.isEdge;
}

} // namespace tilescope::query
