#pragma once

#include "core/model/spec.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// What values a key takes; decides how it is read, how a form shows it and how help prints it.
enum class ValueType {
    Text,
    Integer,
    Real,
    Boolean,
    Choice,
    Device,
    Size,
    Duration,
    Compile,
    Checkpointing,
    List
};

/// One key of the spec: the single source from which validation, --help, the help pages, the JSON Schema and
/// the GUI's form are made.
struct KeyInfo {
    std::string_view name; ///< as in CONTRACT.md: d_head
    ValueType type = ValueType::Text;
    std::vector<std::string> choices; ///< for Choice: the words, in order
    double minimum = 0;               ///< Integer and Real
    double maximum = 0;
    std::string_view defaultText; ///< "8 (attention), 4 (lm)"
    std::string_view help;        ///< one line
    bool attention = true;        ///< applies to workload attention
    bool lm = true;               ///< applies to workload lm
    bool sweepable = true;        ///< may stand under `sweep`
};

/// All run keys, in the order of CONTRACT.md.
std::span<const KeyInfo> keys();

/// The key of that name, `-` and `_` being the same; nullptr where there is none.
const KeyInfo* findKey(std::string_view name);

/// A key and its resolved value as JSON text (`64`, `"bf16"`, `true`), in schema order, those of the spec's
/// workload.
struct ResolvedValue {
    std::string_view key;
    std::string json;
};
std::vector<ResolvedValue> resolvedValues(const ExperimentSpec& spec);

/// The resolved keys as one JSON object, in schema order: what a run stores and `show runs` prints as params.
std::string toJson(const ExperimentSpec& spec);

/// The spec of such an object.
/// \throws Error  where it is not one (unknown key, wrong type)
ExperimentSpec fromJson(std::string_view json);

/// SHA-256 (hex) over all resolved keys but name and timeout: two runs with one hash did the same work.
std::string specHash(const ExperimentSpec& spec);

} // namespace tilescope::config
