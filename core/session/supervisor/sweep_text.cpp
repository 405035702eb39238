#include "core/session/supervisor/sweep_text.h"

#include "core/base/plural.h"
#include "core/base/quantity.h"
#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "core/config/varying_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::session {

std::string pointsText(const std::vector<SweepPoint>& points)
{
    const bool areRepeated =
        std::ranges::any_of(points, [](const SweepPoint& point) { return point.spec.repeat > 1; });
    return counted(static_cast<std::int64_t>(points.size()), areRepeated ? "run" : "point");
}

std::int64_t stepsOf(const ExperimentSpec& spec)
{
    return std::max<std::int64_t>(1, spec.warmup + spec.steps + spec.traceSteps);
}

std::int64_t stepsBefore(const ExperimentSpec& spec, std::string_view state)
{
    return state == "measure" ? spec.warmup : state == "trace" ? spec.warmup + spec.steps : 0;
}

std::string durationText(double seconds)
{
    constexpr double kShort = 0.1; // below it one decimal says too little
    constexpr double kNsPerSecond = 1e9;
    if (seconds > 0 && seconds < kShort)
        return quantity::withUnit(seconds * kNsPerSecond, quantity::Unit::Nanoseconds);
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole >= 3600)
        return fmt::format("{}h{:02}m", whole / 3600, whole % 3600 / 60);
    if (whole >= 60)
        return fmt::format("{}m{:02}s", whole / 60, whole % 60);
    return seconds < 10 ? fmt::format("{:.1f} s", seconds) : fmt::format("{} s", whole);
}

bool haveSeveralNames(const std::vector<SweepPoint>& points)
{
    return std::ranges::any_of(
        points, [&points](const SweepPoint& point) { return point.spec.name != points.front().spec.name; });
}

std::vector<config::KeyTexts> varyingValues(const std::vector<SweepPoint>& points)
{
    std::vector<config::KeyTexts> values;
    values.reserve(points.size());
    std::map<std::string, config::VaryingKeys> keysOfName;
    for (const SweepPoint& point : points) {
        config::KeyTexts& ofPoint = values.emplace_back();
        for (const config::ResolvedValue& value : config::resolvedValues(point.spec)) {
            const bool isQuoted = value.json.starts_with('"') && value.json.size() >= 2;
            ofPoint.emplace_back(value.key,
                                 isQuoted ? value.json.substr(1, value.json.size() - 2) : value.json);
        }
        keysOfName[point.spec.name].add(ofPoint);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
        const ExperimentSpec& spec = points[i].spec;
        values[i] = keysOfName.at(spec.name).of(values[i]);
        if (spec.repeat > 1)
            values[i].emplace_back("repeat", fmt::format("{}/{}", points[i].repetition + 1, spec.repeat));
    }
    return values;
}

std::vector<std::string> keyLabels(const std::vector<SweepPoint>& points)
{
    std::vector<std::string> labels;
    labels.reserve(points.size());
    for (config::KeyTexts& values : varyingValues(points)) {
        for (auto& [key, value] : values)
            value = config::valueText(key, value);
        labels.push_back(config::labelOf(values));
    }
    return labels;
}

std::vector<std::string> pointLabels(const std::vector<SweepPoint>& points)
{
    std::vector<std::string> labels = keyLabels(points);
    if (haveSeveralNames(points))
        for (std::size_t i = 0; i < points.size(); ++i)
            labels[i] = points[i].spec.name + (labels[i].empty() ? "" : " ") + labels[i];
    return labels;
}

} // namespace tilescope::session
