#pragma once

#include "core/query/memory/memory_groups.h"

#include <optional>

namespace tilescope::query {

/// Vertical position of blocks in a picture of memory over time.
enum class MemoryPlacing {
    Address, ///< at their addresses; stretches of addresses that hold nothing are left out
    Stacked, ///< in the order of their allocation; when a block ends, those above it move down
};

/// A stretch of addresses: a segment, or neighbouring blocks where an allocator has no segments.
struct MemoryArea {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t low = 0; ///< vertical position in the picture
};

/// A block, or the part of its life with a constant position: a rectangle of time and bytes.
struct MemoryBox {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t low = 0; ///< bytes above the picture's foot
    std::int64_t high = 0;
    std::uint32_t block = 0; ///< index into the history's blocks
};

/// The largest blocks of a history with their positions, and the rest as a band. Immutable; any thread.
class MemoryLayout {
public:
    MemoryPlacing placing = MemoryPlacing::Address;
    std::size_t blocks = 0;             ///< that have boxes, the largest
    std::int64_t least = 0;             ///< bytes of the smallest of them
    double byteShare = 0;               ///< theirs of the bytes times time of all blocks
    std::vector<MemoryBox> boxes = {};  ///< in the order in which they begin
    std::vector<MemoryArea> areas = {}; ///< of Address, by address
    /// The lower edge of the band of the rest: at the bottom of Address, on top of the boxes of Stacked.
    std::int64_t restMost = 0;
    std::int64_t height = 1; ///< of the picture, bytes

    /// Allocated bytes without a box.
    /// \param history  the history of the layout
    std::int64_t restAt(const MemoryHistory& history, std::int64_t time) const;

    /// Calls `take` with the index of each box that is seen within [from, to).
    template <class Take> void eachWithin(double from, double to, Take take) const
    {
        for (std::size_t stretch = 0; stretch * kStretch < boxes.size(); ++stretch) {
            if (static_cast<double>(boxes[stretch * kStretch].from) >= to)
                break;
            if (static_cast<double>(latestEnds_[stretch]) <= from)
                continue;
            const std::size_t end = std::min(boxes.size(), (stretch + 1) * kStretch);
            for (std::size_t i = stretch * kStretch; i < end; ++i)
                if (static_cast<double>(boxes[i].to) > from && static_cast<double>(boxes[i].from) < to)
                    take(i);
        }
    }
    /// The box at a place; within the slack the nearest in time.
    std::optional<std::size_t> hit(double time, double bytes, double slackTime, double slackBytes) const;
    /// The area that contains an address; none if there is none.
    const MemoryArea* areaOf(std::uint64_t address) const;

    /// Computes restAt() for these blocks; also sets restMost.
    void setRest(const MemoryHistory& history, const std::vector<std::uint32_t>& shown);
    /// Call once everything above is set.
    void index();

private:
    static constexpr std::size_t kStretch = 256;
    // Of few blocks their bytes change less often than the rest does, of all of them the rest: one is empty.
    StepCurve drawn_; // bytes represented by boxes
    StepCurve rest_;
    std::vector<std::int64_t> latestEnds_; // of each kStretch boxes
};

/// Places the `most` largest blocks; fewer where stacking them would take more than some hundred thousand
/// boxes. Null where cancelled. O(n log n), of Stacked O(boxes).
std::shared_ptr<const MemoryLayout> memoryLayout(const MemoryHistory& history, MemoryPlacing placing,
                                                 std::size_t most,
                                                 const std::function<bool()>& cancelled = {});

} // namespace tilescope::query
