#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilescope::query {

/// Boxes too small to be drawn one by one, merged: within pixel columns [from, to) of a row of pixels, the
/// group that has most there and how much of it all of them cover.
struct MergedMemory {
    int row = 0;
    int from = 0;
    int to = 0;
    std::uint8_t group = 0;
    float share = 0; ///< 0 to 1
};

/// What lies in one row of pixels, and how much of the row's height it takes.
struct Sliver {
    float left = 0; ///< pixels
    float width = 0;
    float height = 0; ///< 0 to 1; negative: what stayed until here
    std::uint8_t group = 0;
};

/// How much of each pixel of a row each group covers, row after row, as sums and as differences of sums.
///
/// In whole numbers of 2^-20 of a pixel: what is taken away leaves nothing behind, and nothing that was added
/// rounds to nothing. Its space is used again by every row and every picture.
class CoverageRow {
public:
    /// Begins a picture.
    /// \param groups  more than any sliver's group
    void start(int width, std::size_t groups);
    /// Of this row and those below it, until the same with a negative height comes.
    /// \pre  before add()
    void addStaying(const Sliver& sliver);
    /// Of this row only.
    void add(const Sliver& sliver);
    /// Whether there is anything in the row.
    bool empty() const { return used_.empty(); }
    /// Appends what the row shows and goes on to the next. O(columns * groups of the row) at most, less where
    /// columns are like those before them.
    void finish(int row, std::vector<MergedMemory>& out);

private:
    struct Sums {
        std::vector<std::int32_t> points; // of a column alone
        std::vector<std::int32_t> steps;  // of it and all behind it
        std::vector<std::uint8_t> isEdge; // columns that differ from the one before, or may
    };
    std::size_t stride() const { return static_cast<std::size_t>(width_) + 2; }
    void put(const Sliver& sliver, Sums& sums) const;
    void use(std::uint8_t group);

    int width_ = 0;
    Sums row_;
    Sums kept_;                          // what stays
    std::vector<std::int32_t> keptOf_;   // by group: slivers that stay
    std::vector<std::uint8_t> isListed_; // by group: whether it is among used_
    std::vector<std::uint8_t> used_;     // groups that have something
    std::vector<std::int32_t> sums_;     // of the groups in used_, while a row is told
};

} // namespace tilescope::query
