#pragma once

#include "core/base/ids.h"
#include "core/query/timeline/hue.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tilescope::query {

/// An entry of Timeline::names and its hue.
struct NamedHue {
    std::uint32_t name = 0;
    Hue hue = Hue::Other;
};

/// Maps the string ids of one kind of record, which are dense, to names.
class NameTable {
public:
    /// Null if the id is new; the caller must then add it.
    NamedHue* find(StringId id)
    {
        if (id && id.value < known_.size() && known_[id.value].name != kUnknown)
            return &known_[id.value];
        return id || none_.name == kUnknown ? nullptr : &none_;
    }
    NamedHue& put(StringId id, NamedHue name)
    {
        if (!id)
            return none_ = name;
        if (id.value >= known_.size())
            known_.resize(std::max<std::size_t>(id.value + 1, 2 * known_.size()), {kUnknown, Hue::Other});
        return known_[id.value] = name;
    }

private:
    static constexpr std::uint32_t kUnknown = 0xFFFF'FFFF;
    std::vector<NamedHue> known_;
    NamedHue none_{kUnknown, Hue::Other};
};

} // namespace tilescope::query
