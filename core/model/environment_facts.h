#pragma once

#include "core/base/ids.h"
#include "core/base/number_text.h"
#include "core/model/run.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tilescope {

/// The value of a fact; empty if it is not among them.
inline std::string factOf(std::span<const EnvironmentEntry> facts, std::string_view key)
{
    const auto found = std::ranges::find(facts, key, &EnvironmentEntry::key);
    return found == facts.end() ? std::string() : found->value;
}

/// Key of a number that each process of a run has: "record.inside_cycles.1"; of a run's only process (none) `key` itself.
inline std::string keyOfProcess(std::string_view key, ProcessIndex process)
{
    return std::string(key) + (process ? "." + std::to_string(process.value) : std::string());
}

/// Such numbers, by process.
inline std::map<ProcessIndex, std::int64_t> numbersOfProcesses(std::span<const EnvironmentEntry> facts,
                                                               std::string_view key)
{
    std::map<ProcessIndex, std::int64_t> numbers;
    for (const EnvironmentEntry& fact : facts) {
        const auto number = fact.key.starts_with(key) ? parseNumber<std::int64_t>(fact.value) : std::nullopt;
        if (!number)
            continue;
        const std::string_view rest = std::string_view(fact.key).substr(key.size());
        if (rest.empty())
            numbers[ProcessIndex{}] = *number;
        else if (const auto process =
                     rest.front() == '.' ? parseNumber<std::int32_t>(rest.substr(1)) : std::nullopt)
            numbers[ProcessIndex{*process}] = *number;
    }
    return numbers;
}

} // namespace tilescope
