#pragma once

#include "core/query/memory/memory_layout.h"
#include "core/query/runs/coverage_row.h"

namespace tilescope::query {

/// The stretch of time and bytes that a picture of `width` times `height` pixels shows.
struct MemoryFrame {
    double from = 0;
    double to = 1;
    double low = 0;
    double high = 1;
    int width = 1;
    int height = 1;

    double x(double time) const { return (time - from) / (to - from) * width; }
    double y(double bytes) const { return (high - bytes) / (high - low) * height; } ///< 0 at the top
    double timeOfColumn() const { return (to - from) / width; }
    double bytesOfRow() const { return (high - low) / height; }
};

/// A box that is drawn individually, in pixels, cut at the frame's edges.
struct DrawnMemory {
    double left = 0;
    double right = 0;
    double top = 0;
    double bottom = 0;
    std::uint32_t box = 0;
    std::uint8_t group = 0;
};

/// The drawn form of a layout: it covers the same area as the boxes at any zoom.
struct MemoryDrawing {
    std::vector<MergedMemory> merged; ///< row by row, each from left to right
    std::vector<DrawnMemory> boxes;
};

/// A layout at reduced resolution, with columns and rows of at most half a pixel: boxes that would not be
/// visible individually are merged.
struct MemoryLevel {
    /// Columns [from, to) of a row, covered by this much, most of it by `group`.
    struct Run {
        std::uint32_t from = 0;
        std::uint32_t to = 0;
        float share = 0;
        std::uint8_t group = 0;
    };
    static constexpr double kLarge = 4; ///< its pixels either way, of a box that a picture may draw by itself

    MemoryFrame frame;                      ///< all there is
    std::size_t groups = 1;                 ///< more than any run's group
    std::vector<std::uint32_t> begins = {}; ///< by row: its first run; one more at the end
    std::vector<Run> runs = {};
    std::vector<std::uint32_t> large = {}; ///< the other boxes, in the order in which they begin

    bool serves(const MemoryFrame& wanted) const
    {
        return 2 * frame.timeOfColumn() <= wanted.timeOfColumn() &&
               2 * frame.bytesOfRow() <= wanted.bytesOfRow();
    }
};

/// Levels of a layout and a grouping, so that the cost of a picture that shows much follows its pixels and
/// not the boxes. Published once, never changed after; any thread.
struct MemoryLevels {
    std::vector<MemoryLevel> levels = {}; ///< the coarsest first
};

/// Empty if there are so few boxes that drawing them all is as cheap.
/// \param groupOf  of each block of the history
/// \return         null where cancelled
/// O(levels * (boxes + pixels of the level)): for a worker.
std::shared_ptr<const MemoryLevels> memoryLevels(const MemoryLayout& layout,
                                                 std::span<const std::uint8_t> groupOf,
                                                 const std::function<bool()>& cancelled = {});

/// Draws frame after frame in the same space. One thread.
class MemoryDrawer {
public:
    MemoryDrawer();
    ~MemoryDrawer();

    /// \param groupOf  of each block of the history
    /// \param levels   of this layout and these groups; null: none
    /// \return         valid until the next frame
    /// O(pixels) if a level is suitable, otherwise O(visible boxes + pixels).
    const MemoryDrawing& draw(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf,
                              const MemoryFrame& frame, const MemoryLevels* levels = nullptr);

    /// Like draw() without levels; only boxes with at least this many pixels in both directions are drawn
    /// individually.
    const MemoryDrawing& drawMerged(const MemoryLayout& layout, std::span<const std::uint8_t> groupOf,
                                    const MemoryFrame& frame, double pixels);

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace tilescope::query
