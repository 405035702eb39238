#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <optional>
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
    Device,        ///< auto, cpu, cuda, cuda:N
    Size,          ///< bytes with a unit: 8 GiB
    Duration,      ///< seconds
    Compile,       ///< none, graph, package:FILE.pt2
    Checkpointing, ///< none, block, block:K, attention
    List           ///< of words
};

/// Where a form or a help page puts a key.
enum class KeyGroup { Experiment, Measurement, Tracing, Process, Attention, Model };

/// Heading of a group.
std::string_view title(KeyGroup group);

/// One key of the spec: the single source from which validation, --help, the help pages, the JSON Schema and
/// the GUI's form are made.
struct KeyInfo {
    std::string_view name; ///< as in specs: d_head
    ValueType type = ValueType::Text;
    KeyGroup group = KeyGroup::Experiment;
    std::vector<std::string> choices =
        {};             ///< the words, in order: all of a Choice, the fixed ones of other types
    double minimum = 0; ///< Integer, Real, Duration, Size (bytes), length of a Text
    double maximum = 0;
    std::string_view defaultText = {};       ///< "8 (attention), 4 (lm)"
    std::string_view help = {};              ///< one line
    std::string_view example = {};           ///< a value other than the default, as it is written in YAML
    bool attention = true;                   ///< applies to workload attention
    bool lm = true;                          ///< applies to workload lm
    bool studies = false;                    ///< applies to the workloads accumulation and dtypes
    bool sweepable = true;                   ///< may stand under `sweep`
    std::vector<std::string> lmChoices = {}; ///< those of `choices` that the other workloads refuse

    bool appliesTo(Workload workload) const;
    /// What may be written, as a person reads it: "1 to 65,536", "auto, cpu, cuda, cuda:N".
    std::string allowed() const;
    /// The same for one workload.
    std::string allowed(Workload workload) const;
};

/// All run keys, in the order of CONTRACT.md. Any thread.
std::span<const KeyInfo> keys();

/// The key of that name, `-` and `_` being the same; nullptr where there is none.
const KeyInfo* findKey(std::string_view name);

/// What is wrong with a value for a key, looked at alone (`64`, `8 GiB`, `[a, b]` for lists), as YAML text
/// that a form's field holds; none where nothing is. Rules between keys need a whole spec.
std::optional<std::string> problemWith(const KeyInfo& key, std::string_view value);

/// A key and its resolved value as JSON text (`64`, `"bf16"`, `true`), in schema order, those of the spec's
/// workload.
struct ResolvedValue {
    std::string_view key;
    std::string json;
};
std::vector<ResolvedValue> resolvedValues(const ExperimentSpec& spec);

/// The resolved keys as one JSON object, in schema order: what a run stores and `show runs` prints as params.
std::string toJson(const ExperimentSpec& spec);

/// The spec of such an object; keys that it lacks get their defaults. Rules between keys are not checked.
/// \throws Error  where it is not one (unknown key, wrong type, out of range)
ExperimentSpec fromJson(std::string_view json);

/// The same; none where this program does not understand it, which `why` then says: another program's run, or
/// one of a newer version.
std::optional<ExperimentSpec> specOf(std::string_view json, std::string* why = nullptr);

/// SHA-256 (hex) over all resolved keys but name, timeout and repeat: two runs with one hash did the same
/// work.
std::string specHash(const ExperimentSpec& spec);

/// JSON Schema (draft 2020-12) of spec files; resources/schema/spec.schema.json is this text.
std::string jsonSchema();

/// The keys of a workload as `--help` prints them: one a line, with what is allowed and the default, wrapped
/// at `width`.
std::string keysHelp(Workload workload, int width = 80);

/// The keys as Markdown tables, one a group: the reference part of resources/help/spec.md is this text.
std::string keysMarkdown();

} // namespace tilescope::config
