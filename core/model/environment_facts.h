#pragma once

#include "core/model/run.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// The value of a fact; empty if it is not among them.
inline std::string factOf(std::span<const EnvironmentEntry> facts, std::string_view key)
{
    const auto found = std::ranges::find(facts, key, &EnvironmentEntry::key);
    return found == facts.end() ? std::string() : found->value;
}

} // namespace tilescope
