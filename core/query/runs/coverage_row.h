#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilescope::query {

/// Merged boxes that are too small to draw: pixel columns [from, to) of a row, the group with the largest
/// share, and the share that all groups cover.
struct MergedMemory {
    int row = 0;
    int from = 0;
    int to = 0;
    std::uint8_t group = 0;
    float share = 0; ///< 0 to 1
};

/// A rectangle within one row of pixels.
struct Sliver {
    float left = 0; ///< pixels
    float width = 0;
    float height = 0; ///< 0 to 1 of the row; negative: removes a sliver that stayed
    std::uint8_t group = 0;
};

/// The coverage of each pixel of a row by each group, computed row by row from sums and differences of sums.
///
/// Uses integers in units of 2^-20 pixel, so that adding and removing a sliver cancels exactly. Reuses its
/// memory for every row and picture.
class CoverageRow {
public:
    /// Starts a picture.
    /// \param groups  greater than every group of a sliver
    void start(int width, std::size_t groups);
    /// Adds a sliver to this and all following rows, until the same sliver with a negative height is added.
    /// \pre  called before add()
    void addStaying(const Sliver& sliver);
    /// Adds a sliver to this row only.
    void add(const Sliver& sliver);
    /// Whether the row has no slivers.
    bool empty() const { return used_.empty(); }
    /// Appends the merged boxes of the row and starts the next row. O(columns * groups of the row), less if
    /// neighbouring columns are equal.
    void finish(int row, std::vector<MergedMemory>& out);

private:
    struct Sums {
        std::vector<std::int32_t> points; // per column, for that column only
        std::vector<std::int32_t> steps;  // per column, for it and all columns to its right
        std::vector<std::uint8_t> isEdge; // columns that may differ from the one before
    };
    std::size_t stride() const { return static_cast<std::size_t>(width_) + 2; }
    void put(const Sliver& sliver, Sums& sums) const;
    void use(std::uint8_t group);

    int width_ = 0;
    Sums row_;
    Sums kept_;                          // slivers that stay
    std::vector<std::int32_t> keptOf_;   // per group: number of slivers that stay
    std::vector<std::uint8_t> isListed_; // per group: whether it is in used_
    std::vector<std::uint8_t> used_;     // groups with slivers in this row
    std::vector<std::int32_t> sums_;     // of the groups in used_, during finish()
};

} // namespace tilescope::query
