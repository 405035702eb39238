#pragma once

#include "ui/ranks/rank_lanes_frame.h"

#include <QCoreApplication>

#include <cstddef>
#include <optional>
#include <vector>

class QPainter;

namespace tilescope::ui {

/// Draws the lanes of ranks into a frame: for the window and for exports.
class RankLanesPainter {
    Q_DECLARE_TR_FUNCTIONS(RankLanesPainter)
public:
    /// \param marked       the collective that is emphasized, an index into `lanes.collectives`
    /// \param focusedRank  the rank that has the focus of the keyboard, an index into `lanes.ranks`
    RankLanesPainter(const RankLanes& lanes, const RankLanesFrame& frame, std::optional<std::size_t> marked,
                     std::optional<std::size_t> focusedRank)
        : lanes_(lanes), frame_(frame), marked_(marked), focusedRank_(focusedRank)
    {
    }

    void draw(QPainter& painter) const;

private:
    std::vector<std::size_t> bandsToDraw() const;
    void drawAxis(QPainter& painter) const;
    void drawWork(QPainter& painter, std::size_t rank) const;
    void fillRows(QPainter& painter, std::size_t rank, const RankLanes::Rows& rows, bool onlyIdle) const;
    void drawBands(QPainter& painter) const;
    void drawParts(QPainter& painter, std::size_t rank) const;
    void drawLateness(QPainter& painter) const;
    void drawTitles(QPainter& painter) const;
    void drawLegend(QPainter& painter) const;

    const RankLanes& lanes_;
    RankLanesFrame frame_;
    std::optional<std::size_t> marked_;
    std::optional<std::size_t> focusedRank_;
};

} // namespace tilescope::ui
