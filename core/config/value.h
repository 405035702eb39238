#pragma once

#include "core/config/schema.h"
#include "core/config/spec_document.h"

#include <variant>

namespace tilescope::config {

struct Auto {
    bool operator==(const Auto&) const = default;
};

/// A checked value of a key. Words (choices, devices, …) are text in their one spelling; sizes are bytes.
using Value = std::variant<Auto, bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// Reads what was written for a key: type, range, choices.
/// \throws Error  without `where`, which the caller knows
Value parseValue(const KeyInfo& key, const SpecValue& written);

/// The value as JSON text.
std::string jsonText(const Value& value);

/// Shortest decimal text that reads back as the same number: 600, 0.5, 1e+16.
std::string numberText(double number);

/// 65,536
std::string groupedText(double number);

/// A row of the table: the key and how it reads and writes its field of the spec.
struct KeyRow {
    KeyInfo info;
    Value (*get)(const ExperimentSpec& spec) = nullptr;
    void (*set)(ExperimentSpec& spec, const Value& value) = nullptr;
};
const std::vector<KeyRow>& keyRows();

/// Index of each key in keyRows(), for those that code must name.
std::size_t rowOf(std::string_view name);

} // namespace tilescope::config
