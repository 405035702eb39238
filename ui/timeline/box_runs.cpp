#include "ui/timeline/box_runs.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::Column;

namespace {

std::uint8_t levelOf(const Column& column)
{
    return std::uint8_t(std::lround(column.coverage * BoxRun::kLevels));
}

// A wide box leaves its first column empty, as a seam between boxes that touch.
void cutSeams(RowBoxes& boxes, const std::vector<Column>& columns)
{
    for (const BoxSpan& span : boxes.spans) {
        if (span.from == 0 || columns[std::size_t(span.from) - 1].coverage < 0.75F)
            continue;
        const auto run = std::lower_bound(boxes.runs.begin(), boxes.runs.end(), span.from,
                                          [](const BoxRun& r, int column) { return r.from < column; });
        if (run != boxes.runs.end() && run->from == span.from)
            ++run->from;
    }
    std::erase_if(boxes.runs, [](const BoxRun& run) { return run.from >= run.to; });
}

} // namespace

void makeBoxes(const query::Track& track, double from, double perColumn, int columns,
               std::vector<Column>& scratch, RowBoxes& boxes)
{
    boxes.runs.clear();
    boxes.spans.clear();
    if (columns <= 0 || track.size() == 0)
        return;
    scratch.resize(std::size_t(columns));
    track.columns(from, perColumn, scratch);
    std::uint32_t spanItem = Column::kNothing;
    for (int c = 0; c < columns; ++c) {
        const Column& column = scratch[std::size_t(c)];
        if (column.item == Column::kNothing) {
            spanItem = Column::kNothing;
            continue;
        }
        const std::uint8_t level = levelOf(column);
        BoxRun* last = boxes.runs.empty() ? nullptr : &boxes.runs.back();
        if (last != nullptr && last->to == c && last->hue == column.hue && last->level == level &&
            last->item == column.item)
            ++last->to;
        else
            boxes.runs.push_back({c, c + 1, column.hue, level, column.item});
        if (column.item >= Column::kSeveral)
            spanItem = Column::kNothing;
        else if (column.item == spanItem)
            boxes.spans.back().to = c + 1;
        else
            boxes.spans.push_back({c, c + 1, spanItem = column.item});
    }
    std::erase_if(boxes.spans, [](const BoxSpan& span) { return span.to - span.from < kMinimumSpan; });
    cutSeams(boxes, scratch);
}

} // namespace tilescope::ui
