#pragma once

#include "ui/timeline/timeline_layout.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace tilescope::ui {

/// Boxes that are marked on a timeline: the results of a search, or all instances of a kernel. Immutable; any
/// thread.
class BoxSet {
public:
    BoxSet() = default;
    explicit BoxSet(const std::vector<SectionItem>& items); ///< in any order

    /// Boxes of a row must be in ascending order.
    void add(std::size_t section, const query::TimelineItem& item);

    /// The corresponding boxes of other timelines; boxes that do not exist there are left out.
    BoxSet mapped(const std::function<std::optional<SectionItem>(const SectionItem&)>& now) const;

    bool empty() const { return rows_.empty(); }
    std::size_t size() const;
    /// Indices of the marked boxes of a row, ascending.
    std::span<const std::uint32_t> of(std::size_t section, std::size_t lane, std::size_t row) const;

    /// Number of boxes before `item`, by section and start. O(rows log n).
    std::size_t rank(const std::vector<TimelineSection>& sections, const SectionItem& item) const;
    /// The box after it (`by` 1) or before it (-1) in that order, wrapping around; null if there is no box.
    /// `item` itself need not be marked; without one it is the first or the last. O(rows log n).
    std::optional<SectionItem> neighbour(const std::vector<TimelineSection>& sections,
                                         const std::optional<SectionItem>& item, int by) const;

private:
    struct Row {
        std::size_t section, lane, row;
        auto operator<=>(const Row&) const = default;
    };
    std::map<Row, std::vector<std::uint32_t>> rows_;
};

/// A stretch of a row, in pixels from its left end, that is ringed.
struct Ring {
    double from = 0;
    double to = 0;
    bool several = false; ///< boxes too close to be ringed one by one

    bool operator==(const Ring&) const = default;
};

/// The rings of a row in a window that begins at `from` and is `width` pixels of `perPixel` nanoseconds.
/// Boxes less than kRingGap pixels apart share one, so that there are never more rings than pixels. O(pixels
/// * log(boxes)).
std::vector<Ring> ringsOf(const query::Track& track, std::span<const std::uint32_t> boxes, double from,
                          double perPixel, double width);

inline constexpr double kRingGap = 2;

} // namespace tilescope::ui
