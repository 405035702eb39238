#pragma once

#include "core/analysis/time/text_of.h"
#include "core/base/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// The key by which a table groups its rows.
enum class Grouping { None, Name, Family, Range, Phase, Module, Op, Category, Layer, Step, Shape };

/// The word of a grouping for `--group`: name, family, … There is no word for None.
std::string_view wordOf(Grouping grouping);

/// The grouping with this word; none if no grouping has it.
std::optional<Grouping> groupingNamed(std::string_view word);

/// The name of the group for events without a key.
inline constexpr std::string_view kUnattributed = "unattributed";

/// The key of a text in a grouping: Range, Phase, Module and Layer interpret the text as a path; other groupings
/// use it as it is. kUnattributed if there is none. O(length).
std::string_view groupKey(Grouping grouping, std::string_view text);

/// Assigns numbers from 0 to the distinct keys of a grouping. Evaluates each string id once.
class GroupKeys {
public:
    GroupKeys(Grouping grouping, const analysis::TextOf& textOf) : grouping_(grouping), textOf_(textOf) {}

    std::uint32_t numberOf(StringId id);
    /// The number of a key given as text.
    std::uint32_t numberOf(std::string_view key);
    const std::string& key(std::uint32_t number) const { return keys_[number]; }

private:
    Grouping grouping_;
    analysis::TextOf textOf_;
    std::vector<std::string> keys_;
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::unordered_map<StringId, std::uint32_t> byId_;
};

} // namespace tilescope::query
