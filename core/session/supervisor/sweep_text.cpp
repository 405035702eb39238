#include "core/session/supervisor/sweep_text.h"

#include "core/config/schema.h"
#include "core/model/varying_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilescope::session {

std::string_view pointsWord(const std::vector<SweepPoint>& points)
{
    return std::ranges::any_of(points, [](const SweepPoint& point) { return point.spec.repeat > 1; })
               ? "runs"
               : "points";
}

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
    std::vector<KeyTexts> values;
    values.reserve(points.size());
    VaryingKeys keys;
    for (const SweepPoint& point : points) {
        KeyTexts& ofPoint = values.emplace_back();
        for (const config::ResolvedValue& value : config::resolvedValues(point.spec)) {
            const bool isQuoted = value.json.starts_with('"') && value.json.size() >= 2;
            ofPoint.emplace_back(value.key,
                                 isQuoted ? value.json.substr(1, value.json.size() - 2) : value.json);
        }
        keys.add(ofPoint);
    }
    std::vector<std::string> labels;
    labels.reserve(points.size());
    for (const KeyTexts& ofPoint : values)
        labels.push_back(labelOf(keys.of(ofPoint)));
    for (std::size_t i = 0; i < points.size(); ++i)
        if (points[i].spec.repeat > 1)
            labels[i] += fmt::format("{}repeat={}/{}", labels[i].empty() ? "" : " ", points[i].repetition + 1,
                                     points[i].spec.repeat);
    return labels;
}

} // namespace tilescope::session
