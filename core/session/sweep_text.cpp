#include "core/session/sweep_text.h"

#include "core/config/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::session {

namespace {

std::string_view jsonOf(const std::vector<config::ResolvedValue>& values, std::string_view key)
{
    const auto found = std::ranges::find(values, key, &config::ResolvedValue::key);
    return found == values.end() ? std::string_view() : std::string_view(found->json);
}

} // namespace

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
    // A key that only follows another one, as kv_len does seq_len, tells nothing more.
    std::set<std::string_view> told;
    for (const auto& [key, texts] : seen)
        if (texts.size() > 1)
            told.insert(key);
    for (const auto& [follower, leader] : {std::pair("kv_len", "seq_len"), std::pair("kv_heads", "heads")}) {
        bool follows = true;
        for (const auto& ofPoint : values)
            follows = follows && jsonOf(ofPoint, follower) == jsonOf(ofPoint, leader);
        if (follows)
            told.erase(follower);
    }
    std::vector<std::string> labels;
    for (const auto& ofPoint : values) {
        std::string& label = labels.emplace_back();
        for (const config::ResolvedValue& value : ofPoint) {
            if (!told.contains(value.key))
                continue;
            const bool quoted = value.json.starts_with('"') && value.json.size() >= 2;
            label += (label.empty() ? "" : " ") + std::string(value.key) + "=" +
                     (quoted ? value.json.substr(1, value.json.size() - 2) : value.json);
        }
    }
    return labels;
}

} // namespace tilescope::session
