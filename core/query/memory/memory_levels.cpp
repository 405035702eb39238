// A layout at reduced resolution, computed once so that frames need not process every box.

#include "core/query/memory/memory_drawing.h"

#include <algorithm>

namespace tilescope::query {

namespace {

constexpr std::size_t kFew = 60'000; ///< boxes that a frame may look at one by one
constexpr int kMostRows = 2048;      ///< of a level: it serves plots up to half as high
constexpr int kLeastRows = 1024;
constexpr int kFirstColumns = 4096;
constexpr int kMostColumns = 1 << 16;
constexpr int kFiner = 4;            ///< times as many columns has the next level
constexpr double kUsualWidth = 1100; ///< pixels of a plot

/// Average number of boxes to process if a level of this many columns is slightly too coarse.
double seenBehind(std::size_t boxes, int columns)
{
    return static_cast<double>(boxes) * 2 * kUsualWidth / columns;
}

MemoryLevel levelOf(const MemoryFrame& frame, const MemoryDrawing& drawing)
{
    MemoryLevel level{.frame = frame};
    level.begins.reserve(static_cast<std::size_t>(frame.height) + 1);
    level.runs.reserve(drawing.merged.size());
    for (const MergedMemory& run : drawing.merged) {
        level.begins.resize(static_cast<std::size_t>(run.row) + 1,
                            static_cast<std::uint32_t>(level.runs.size()));
        level.runs.push_back(
            {static_cast<std::uint32_t>(run.from), static_cast<std::uint32_t>(run.to), run.share, run.group});
        level.groups = std::max<std::size_t>(level.groups, run.group + std::size_t{1});
    }
    level.begins.resize(static_cast<std::size_t>(frame.height) + 1,
                        static_cast<std::uint32_t>(level.runs.size()));
    level.large.reserve(drawing.boxes.size());
    for (const DrawnMemory& box : drawing.boxes)
        level.large.push_back(box.box);
    return level;
}

} // namespace

std::shared_ptr<const MemoryLevels> memoryLevels(const MemoryLayout& layout,
                                                 std::span<const std::uint8_t> groupOf,
                                                 const std::function<bool()>& cancelled)
{
    auto levels = std::make_shared<MemoryLevels>();
    const std::size_t boxes = layout.boxes.size();
    if (boxes <= kFew)
        return levels;
    std::int64_t end = layout.boxes.front().to;
    for (const MemoryBox& box : layout.boxes)
        end = std::max(end, box.to);
    MemoryFrame frame{.from = static_cast<double>(layout.boxes.front().from),
                      .to = static_cast<double>(end),
                      .low = 0,
                      .high = static_cast<double>(layout.height),
                      .width = kFirstColumns,
                      .height = kMostRows};
    MemoryDrawer drawer;
    for (; frame.width <= kMostColumns; frame.width *= kFiner) {
        if (cancelled && cancelled())
            return nullptr;
        // If boxes are so far apart that few merge, drawing them individually is as fast.
        const MemoryDrawing& drawing = drawer.drawMerged(layout, groupOf, frame, MemoryLevel::kLarge);
        if (drawing.merged.size() + drawing.boxes.size() > boxes / 2) {
            if (frame.height == kLeastRows)
                break;
            frame.height = kLeastRows;
            frame.width /= kFiner; // the next finer level
            continue;
        }
        levels->levels.push_back(levelOf(frame, drawing));
        if (seenBehind(boxes, frame.width) <= static_cast<double>(kFew))
            break;
    }
    return levels;
}

} // namespace tilescope::query
