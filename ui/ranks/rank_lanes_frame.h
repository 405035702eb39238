#pragma once

#include "ui/kit/time_axis.h"
#include "ui/ranks/rank_lanes.h"
#include "ui/theme/theme.h"

#include <QPolygonF>
#include <QRectF>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// Where what is drawn of the lanes of ranks lies, in logical pixels.
struct RankLanesFrame {
    static constexpr int kAxisHeight = 22; // before sizes(), likewise below
    static constexpr int kWorkHeight = 18;
    static constexpr int kPartHeight = 15;
    static constexpr int kRankGap = 8;

    double left = 0, right = 0;
    TimeWindow window;
    std::size_t ranks = 0;

    double x(double time) const { return left + (right - left) * (time - window.from) / window.length(); }
    double timeAt(double x) const { return window.from + (x - left) / (right - left) * window.length(); }
    static double rankHeight()
    {
        return sizes().of(kWorkHeight) + sizes().of(kPartHeight) + sizes().of(kRankGap);
    }
    QRectF work(std::size_t rank) const
    {
        return {left, sizes().of(kAxisHeight) + double(rank) * rankHeight(), right - left,
                double(sizes().of(kWorkHeight))};
    }
    QRectF parts(std::size_t rank) const
    {
        return {left, work(rank).bottom() + 1, right - left, double(sizes().of(kPartHeight))};
    }
    double bottom() const { return sizes().of(kAxisHeight) + double(ranks) * rankHeight(); }
    QRectF part(std::size_t rank, const RankLanes::Part& part) const
    {
        const QRectF row = parts(rank);
        const double far = 20 * (right - left); // what is far outside need not be exact
        const double from = std::clamp(x(part.start), -far, far);
        return {from, row.top(), std::clamp(x(part.end), -far, far) - from, row.height()};
    }
    /// The band of a collective, an index into `lanes.collectives`, from each rank that takes part to the next one.
    std::vector<QPolygonF> bands(const RankLanes& lanes, std::size_t collective) const
    {
        std::vector<QPolygonF> bands;
        std::optional<QRectF> above;
        for (std::size_t rank = 0; rank < lanes.ranks.size(); ++rank) {
            const RankLanes::Part* each = lanes.partOf(rank, collective);
            if (each == nullptr)
                continue;
            const QRectF box = part(rank, *each);
            if (above)
                bands.push_back(
                    QPolygonF({above->bottomLeft(), above->bottomRight(), box.topRight(), box.topLeft()}));
            above = box;
        }
        return bands;
    }
};

} // namespace tilescope::ui
