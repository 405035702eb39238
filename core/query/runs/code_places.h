#pragma once

#include "core/model/code_place.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::query {

/// The source locations where the ranges of a run were opened. Immutable; any thread.
class CodePlaces {
public:
    CodePlaces() = default;
    explicit CodePlaces(std::vector<CodePlace> places) : places_(std::move(places))
    {
        std::ranges::stable_sort(places_, {}, &CodePlace::path);
    }

    /// The location of the innermost range of a path; null if unknown. O(log n).
    const CodePlace* of(std::string_view path) const
    {
        const auto found = std::ranges::lower_bound(
            places_, path, {}, [](const CodePlace& place) { return std::string_view(place.path); });
        return found == places_.end() || found->path != path ? nullptr : &*found;
    }

    /// `core/engine/lm/lm.cpp:199`; empty if unknown.
    std::string lineOf(std::string_view path) const
    {
        const CodePlace* place = of(path);
        return place ? place->file + ":" + std::to_string(place->line) : std::string();
    }

private:
    std::vector<CodePlace> places_; // sorted by path
};

} // namespace tilescope::query
