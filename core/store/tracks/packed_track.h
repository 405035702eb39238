#pragma once

#include "core/store/rows/lanes.h"
#include "core/store/rows/packed_bytes.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

// Storage format of boxes and points: differences with seven bits per byte, and a list of distinct codes per
// block. Five to six bytes per box. A checksum comes first.

/// \pre boxes in start order that do not overlap
std::string packBoxes(std::span<const Box> boxes);
/// Appends to `boxes`.
/// \throws Error  the bytes are damaged
void unpackBoxes(std::string_view bytes, std::vector<Box>& boxes);

/// The boxes of a piece of a track, still packed. Any thread.
class PackedBoxes {
public:
    /// Verifies the checksum.
    /// \throws Error  the bytes are damaged
    explicit PackedBoxes(std::string bytes);

    std::size_t size() const { return size_; }
    /// The distinct codes of the boxes, in the order in which they appear.
    const std::vector<std::uint64_t>& codes() const { return codes_; }
    /// Calls `take(start, length, place)` for each box in order; `place` is the index of its code.
    /// \throws Error  the bytes are damaged
    template <class Take> void each(Take&& take) const
    {
        Unpacker boxes(bytes_.data() + boxes_, bytes_.data() + bytes_.size());
        std::int64_t last = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            const std::int64_t start = last + unfolded(boxes.take());
            const auto length = static_cast<std::int64_t>(boxes.take());
            const std::uint64_t place = boxes.take();
            if (place >= codes_.size())
                throwDamagedPacking();
            take(start, length, static_cast<std::size_t>(place));
            last = start + length;
        }
    }

private:
    std::string bytes_;
    std::vector<std::uint64_t> codes_;
    std::size_t size_ = 0;
    std::size_t boxes_ = 0; // offset of the first one
};

/// \pre points in time order
std::string packPoints(std::span<const MemoryPoint> points);
void unpackPoints(std::string_view bytes, std::vector<MemoryPoint>& points);

} // namespace tilescope::store
