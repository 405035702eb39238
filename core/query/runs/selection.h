#pragma once

#include "core/analysis/time/path_glob.h"
#include "core/analysis/time/text_of.h"
#include "core/base/units.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>
#include <unordered_map>

namespace tilescope::query {

/// Resolves string ids of a file. Valid as long as the reader.
inline analysis::TextOf textsOf(const store::RunReader& reader)
{
    return [&reader](StringId id) { return reader.text(id); };
}

inline double percentOf(Nanoseconds part, Nanoseconds whole)
{
    return whole.count() > 0 ? 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count())
                             : 0;
}

/// Selects the paths of ranges that match a pattern. Evaluates each distinct path once. An empty pattern
/// selects everything, including events without a path.
class PathSelection {
public:
    /// \throws Error  the pattern is invalid
    PathSelection(const std::string& pattern, const analysis::TextOf& textOf) : textOf_(textOf)
    {
        if (!pattern.empty())
            glob_.emplace(pattern);
    }

    bool has(StringId path)
    {
        if (!glob_)
            return true;
        if (!path)
            return false;
        const auto [entry, isNew] = known_.emplace(path, false);
        if (isNew)
            entry->second = glob_->contains(analysis::fromStepDown(textOf_(path)));
        return entry->second;
    }

private:
    const analysis::TextOf& textOf_;
    std::optional<analysis::PathGlob> glob_;
    std::unordered_map<StringId, bool> known_;
};

} // namespace tilescope::query
