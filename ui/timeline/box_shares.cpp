#include "ui/timeline/box_shares.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace tilescope::ui {

using query::Hue;
using query::Track;

namespace {

std::int64_t timeAt(double from, double perColumn, int column)
{
    return std::llround(from + column * perColumn);
}

} // namespace

bool holdsManyPerColumn(const Track& track, double from, double perColumn, int columns)
{
    constexpr std::size_t kMany = 4;
    if (columns <= 0)
        return false;
    const auto [first, last] =
        track.overlapping(timeAt(from, perColumn, 0), timeAt(from, perColumn, columns));
    if (last < first + kMany)
        return false;
    // Only the columns from the first to the last event: a recording may take part of the width.
    const double covered = double(track.end(last - 1) - track.start(first)) / perColumn;
    return double(last - first) >= double(kMany) * std::min(double(columns), std::max(1.0, covered));
}

void makeShares(const Track& track, double from, double perColumn, int columns, std::vector<BoxShare>& shares)
{
    shares.clear();
    std::array<std::size_t, query::kHueCount> open{}; // place of the entry that ends here, plus 1
    for (int column = 0; column < columns; ++column) {
        const std::int64_t left = timeAt(from, perColumn, column);
        const std::int64_t right = std::max(left + 1, timeAt(from, perColumn, column + 1));
        const auto covered = track.coveredByHue(left, right);
        double below = 0;
        for (std::size_t i = 0; i < covered.size(); ++i) {
            const double share = double(covered[i]) / double(right - left);
            const auto part = [](double at) {
                return std::uint8_t(std::lround(std::clamp(at, 0.0, 1.0) * BoxShare::kParts));
            };
            const BoxShare own{column, column + 1, Hue(i), part(below), part(below + share)};
            below += share;
            if (own.high == own.low)
                continue;
            BoxShare* const before = open[i] > 0 ? &shares[open[i] - 1] : nullptr;
            if (before && before->to == column && before->low == own.low && before->high == own.high) {
                ++before->to;
                continue;
            }
            shares.push_back(own);
            open[i] = shares.size();
        }
    }
}

} // namespace tilescope::ui
