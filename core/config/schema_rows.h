#pragma once

#include "core/config/field.h"
#include "core/config/schema.h"
#include "core/config/value.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What the keys of a spec are written with. Only for the files that define keys.

namespace tilescope::config::schema_rows {

inline constexpr double kSmallestLimit = 1 << 20;
inline constexpr double kLargestLimit = static_cast<double>(std::int64_t{1} << 60);

/// All words of an enumeration.
template <class E> std::vector<std::string> words()
{
    std::vector<std::string> list;
    for (const EnumWord<E>& entry : enumWords<E>())
        list.emplace_back(entry.word);
    return list;
}

/// A key that sets a member of the spec.
template <auto Member> KeyRow row(KeyInfo info)
{
    return {.info = std::move(info),
            .get = [](const ExperimentSpec& spec) { return toValue(spec.*Member); },
            .set = [](ExperimentSpec& spec, const Value& value) { assign(spec.*Member, value); }};
}

using Spec = ExperimentSpec;

/// Makes integer keys of one workload.
inline auto integerOf(Workload workload)
{
    using enum ValueType;
    using enum KeyGroup;
    const bool isLm = workload == Workload::Lm;
    return [isLm](std::string_view name, std::string_view label, double minimum, double maximum,
                  std::string_view defaultText, std::string_view help, std::string_view example,
                  bool common = false) {
        return KeyInfo{.name = name,
                       .label = label,
                       .type = Integer,
                       .group = isLm ? Model : Attention,
                       .minimum = minimum,
                       .maximum = maximum,
                       .defaultText = defaultText,
                       .help = help,
                       .example = example,
                       .common = common,
                       .attention = !isLm,
                       .lm = isLm};
    };
}

/// The key with what it is used for.
inline KeyInfo used(KeyInfo info, KeyUse use)
{
    info.use = use;
    return info;
}

// Each adds its keys in the order of the schema.
void addAttention(std::vector<KeyRow>& rows);
void addModel(std::vector<KeyRow>& rows);
/// Keys of the lm's mode generate.
void addGeneration(std::vector<KeyRow>& rows);
void addRanks(std::vector<KeyRow>& rows);

} // namespace tilescope::config::schema_rows
