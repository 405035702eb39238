#pragma once

#include "core/config/schema.h"
#include "core/config/spec_document.h"

#include <nlohmann/json_fwd.hpp>

#include <variant>

namespace tilescope::config {

struct Auto {
    bool operator==(const Auto&) const = default;
};

/// A checked value of a key. Words (choices, devices, …) are canonical text; sizes are bytes.
using Value = std::variant<Auto, bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// Checks the value of a key: type, range, choices.
/// \throws Error  the caller must add `where`
Value parseValue(const KeyInfo& key, const SpecValue& written);
/// Checks a value of a JSON object, where sizes are numbers of bytes.
Value parseValue(const KeyInfo& key, const nlohmann::ordered_json& json);

/// The value as JSON text.
std::string jsonText(const Value& value);

/// Shortest decimal text that parses to the same number: 600, 0.5, 1e+16.
std::string numberText(double number);

/// The number with grouped digits: 65,536.
std::string groupedText(double number);

/// A row of the table: the key and the conversion of its field of the spec.
struct KeyRow {
    KeyInfo info;
    Value (*get)(const ExperimentSpec& spec) = nullptr;
    void (*set)(ExperimentSpec& spec, const Value& value) = nullptr;
};
const std::vector<KeyRow>& keyRows();

/// Index of a key in keyRows().
std::size_t rowOf(std::string_view name);

} // namespace tilescope::config
