#pragma once

#include "core/config/value.h"

#include <bitset>
#include <optional>

namespace tilescope::config {

/// Which rows of keyRows() a person wrote.
using GivenKeys = std::bitset<64>;

/// Gives every key that was not written the default that the others imply: batch by workload, loss by mode,
/// kv_heads by heads, the model's numbers by size.
void applyDefaults(ExperimentSpec& spec, const GivenKeys& given);

/// A rule between keys that a spec breaks.
struct BrokenRule {
    std::string what;
    std::string mend;
    std::vector<std::string_view> keys; ///< those concerned, the likeliest slip first
};

/// The first rule between keys that a spec breaks, whatever it runs on; none where there is none.
std::optional<BrokenRule> brokenRule(const ExperimentSpec& spec);

/// The first of its keys that the device which it names cannot do.
std::optional<BrokenRule> brokenDeviceRule(const ExperimentSpec& spec);

} // namespace tilescope::config
