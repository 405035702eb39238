#include "core/query/runs/grouping.h"

#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <array>

namespace tilescope::query {

namespace {

constexpr std::array<std::string_view, 11> kWords{"none", "name",     "family", "range", "phase", "module",
                                                  "op",   "category", "layer",  "step",  "shape"};

} // namespace

std::string_view wordOf(Grouping grouping)
{
    return kWords[static_cast<std::size_t>(grouping)];
}

std::optional<Grouping> groupingNamed(std::string_view word)
{
    const auto* const known = std::ranges::find(kWords, word);
    if (known == kWords.end() || known == kWords.begin())
        return {};
    return static_cast<Grouping>(known - kWords.begin());
}

std::string_view groupKey(Grouping grouping, std::string_view text)
{
    std::string_view key = text;
    if (grouping == Grouping::Range)
        key = analysis::fromStepDown(text);
    else if (grouping == Grouping::Phase)
        key = analysis::phaseOf(text);
    else if (grouping == Grouping::Module)
        key = analysis::moduleOf(text);
    else if (grouping == Grouping::Layer)
        key = analysis::moduleOf(text).substr(0, analysis::moduleOf(text).find('/'));
    return key.empty() ? kUnattributed : key;
}

std::uint32_t GroupKeys::numberOf(StringId id)
{
    const auto [entry, isNew] = byId_.emplace(id, 0);
    if (isNew)
        entry->second = numberOf(groupKey(grouping_, id ? textOf_(id) : std::string_view{}));
    return entry->second;
}

std::uint32_t GroupKeys::numberOf(std::string_view key)
{
    const auto [entry, isNew] = numbers_.emplace(key, static_cast<std::uint32_t>(keys_.size()));
    if (isNew)
        keys_.emplace_back(key);
    return entry->second;
}

} // namespace tilescope::query
