#include "core/session/sweep_text.h"

#include "core/config/schema.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

namespace tilescope::session {

std::string durationText(double seconds)
{
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole >= 3600)
        return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
    if (whole >= 60)
        return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{} s", whole);
}

std::vector<std::string> pointLabels(const std::vector<SweepPoint>& points)
{
    std::vector<std::vector<config::ResolvedValue>> values;
    std::map<std::string_view, std::set<std::string>> seen;
    for (const SweepPoint& point : points)
        for (const config::ResolvedValue& value : values.emplace_back(config::resolvedValues(point.spec)))
            seen[value.key].insert(value.json);
    std::vector<std::string> labels;
    for (const auto& ofPoint : values) {
        std::string& label = labels.emplace_back();
        for (const config::ResolvedValue& value : ofPoint) {
            if (seen[value.key].size() < 2)
                continue;
            const bool quoted = value.json.starts_with('"') && value.json.size() >= 2;
            label += (label.empty() ? "" : " ") + std::string(value.key) + "=" +
                     (quoted ? value.json.substr(1, value.json.size() - 2) : value.json);
        }
    }
    return labels;
}

} // namespace tilescope::session
