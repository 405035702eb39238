#include "core/config/run_again.h"

#include "core/base/error.h"
#include "core/base/shell_word.h"
#include "core/config/schema.h"
#include "core/model/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace tilescope::config {

namespace {

// A value in the syntax of a flag: words without quotes, bytes with their unit.
std::string flagValue(const ResolvedValue& value)
{
    if (value.json.starts_with('"'))
        return nlohmann::json::parse(value.json).get<std::string>();
    if (value.json.starts_with('['))
        return "[" + value.json + "]"; // a plain list is a sweep
    return findKey(value.key)->type == ValueType::Size ? value.json + " B" : value.json;
}

Overrides assignments(const ExperimentSpec& spec)
{
    Overrides assignments;
    for (const ResolvedValue& value : resolvedValues(spec))
        if (value.json != "[]" && value.json != R"("")") // [] is the default of every list; "" means no name
            assignments.emplace_back(value.key, flagValue(value));
    return assignments;
}

/// The spec that these flags define; none if they contradict each other or define several specs.
std::optional<ExperimentSpec> specOfFlags(Workload workload, const Overrides& flags)
{
    try {
        const std::vector<ExperimentSpec> specs = specFromOverrides(workload, flags);
        return specs.size() == 1 ? std::optional(specs.front()) : std::nullopt;
    } catch (const Error&) {
        return {};
    }
}

/// The smallest set of flags that defines the spec. Not every key is allowed: tile_q belongs to one backend
/// only.
Overrides fewestFlags(const ExperimentSpec& spec)
{
    Overrides flags;
    Overrides reached = assignments(specOfFlags(spec.workload, {}).value_or(ExperimentSpec{}));
    for (const auto& assignment : assignments(spec)) {
        if (assignment.first == "workload" || std::ranges::find(reached, assignment) != reached.end())
            continue;
        flags.push_back(assignment);
        if (const auto next = specOfFlags(spec.workload, flags))
            reached = assignments(*next);
    }
    // The value of a key may follow from that of a later key.
    const std::string wanted = toJson(spec);
    for (std::size_t i = flags.size(); i-- > 0;) {
        Overrides fewer = flags;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        if (const auto same = specOfFlags(spec.workload, fewer); same && toJson(*same) == wanted)
            flags = std::move(fewer);
    }
    return flags;
}

} // namespace

std::vector<ExperimentSpec> withChanges(const ExperimentSpec& spec, const Overrides& changes)
{
    Overrides flags = fewestFlags(spec);
    std::erase_if(flags, [&changes](const auto& flag) {
        return std::ranges::find(changes, flag.first, &Overrides::value_type::first) != changes.end();
    });
    flags.insert(flags.end(), changes.begin(), changes.end());
    return specFromOverrides(spec.workload, flags);
}

std::string runCommand(const ExperimentSpec& spec)
{
    std::string command = "tilescope run " + std::string(wordOf(spec.workload));
    for (const auto& [key, value] : fewestFlags(spec))
        command += " --" + key + " " + shellWord(value);
    return command;
}

} // namespace tilescope::config
