#pragma once

#include "core/analysis/time/text_of.h"
#include "core/base/ids.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// By what a table adds up its rows.
enum class Grouping { None, Name, Family, Range, Phase, Module, Op, Category, Layer, Step };

/// The word of a grouping as `--group` takes it: name, family, …; `none` is not among the words.
std::string_view wordOf(Grouping grouping);

/// The grouping of a word, out of `allowed`.
/// \throws Error  another word; names those that are allowed and the nearest
Grouping groupingOf(std::string_view word, std::span<const Grouping> allowed);

/// What stands for a group that could not be told.
inline constexpr std::string_view kUnattributed = "unattributed";

/// Numbers the distinct keys of a grouping from 0, looking at each distinct string id once.
class GroupKeys {
public:
    /// \param grouping  Range, Phase, Module and Layer read the text as a path; any other takes it as it is
    GroupKeys(Grouping grouping, const analysis::TextOf& textOf) : grouping_(grouping), textOf_(textOf) {}

    std::uint32_t numberOf(StringId id);
    /// The number of a key itself.
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
