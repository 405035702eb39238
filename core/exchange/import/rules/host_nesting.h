#pragma once

#include "core/base/ids.h"
#include "core/exchange/import/foreign_rows.h"
#include "core/exchange/import/rules/rules.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tilescope::exchange {

/// The events that one thread is in: rules "nesting", "overlap" and "depth". One thread.
///
/// An event that ends no earlier than one that started before it contains all that both contain, so the earlier one is
/// dropped: the open events are nested strictly, at most 3 * kMostNested of them, and finding the innermost one takes
/// O(log kMostNested) however many events overlap.
class HostNesting {
public:
    /// Kinds of events that contain others, each with a depth of its own.
    enum Layer : std::uint8_t { Ranges, Ops, Frames, LayerCount };

    /// What an event is in.
    struct Place {
        RangeId range = {}; ///< innermost range
        OpId op = {};       ///< innermost op
        StringId path = {};
        std::array<std::uint16_t, LayerCount> depth{};
    };

    /// The place of an event. Events must come in the order of their starts, the longest first.
    Place around(std::int64_t start, std::int64_t end, RuleWork& work);
    /// Whether an event of this layer may contain others within the limit.
    static bool mayOpen(const Place& outer, Layer layer) { return outer.depth[layer] < kMostNested; }
    /// Opens an event whose place is `inner`, itself included.
    void open(std::int64_t end, Layer layer, Place inner, RuleWork& work);

private:
    struct Open {
        std::int64_t end = 0;
        Place place = {};
    };

    std::vector<Open> open_; ///< ends descend strictly
};

} // namespace tilescope::exchange
