#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A name that is shown in place of a full one.
struct ShownName {
    std::string_view full;
    std::string* shown = nullptr; ///< is changed
};

/// Makes shown names differ where they are equal but stand for different full names: appends, in brackets, the
/// first words and numbers in which the full names differ (`mul fp32 (AUnaryFunctor)`), otherwise a number.
///
/// O(total length of the full names that share a shown name).
void makeDistinct(std::span<const ShownName> names);

} // namespace tilescope::query
