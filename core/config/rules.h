#pragma once

#include "core/config/value.h"

#include <bitset>
#include <optional>

namespace tilescope::config {

/// The keys that the spec sets, by index of keyRows().
using GivenKeys = std::bitset<64>;

/// Gives every key that is not set the default that the other keys imply: batch by workload, loss by mode,
/// kv_heads by heads, the dimensions of the model and further keys by size.
void applyDefaults(ExperimentSpec& spec, const GivenKeys& given);

/// A rule between keys that a spec breaks.
struct BrokenRule {
    std::string what;
    std::string remedy;
    std::vector<std::string_view> keys; ///< the keys concerned, the most likely mistake first
};

/// The first rule between keys that a spec breaks on any device; none if it breaks none.
std::optional<BrokenRule> brokenRule(const ExperimentSpec& spec);

/// The first rule that a spec breaks on the device that it names; none if it breaks none.
std::optional<BrokenRule> brokenDeviceRule(const ExperimentSpec& spec);

} // namespace tilescope::config
