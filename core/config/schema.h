#pragma once

#include "core/model/spec.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// The type of a key's values. Determines how they are parsed, edited in a form and described in help.
enum class ValueType {
    Text,
    Integer,
    Real,
    Boolean,
    Choice,
    Device,        ///< auto, cpu, cuda, cuda:N
    Size,          ///< bytes with a unit: 8 GiB
    Duration,      ///< seconds
    Compile,       ///< none, graph, fused, inductor, package:FILE.pt2
    Checkpointing, ///< none, block, block:K, block:K+N, nested, nested:K, attention
    List           ///< of words
};

/// The group of a key in forms and help pages.
enum class KeyGroup { Experiment, Measurement, Tracing, Process, Attention, Model, Ranks };

/// The heading of a group.
std::string_view title(KeyGroup group);

/// Where titles, lists and charts of runs mention a key, and which key it follows. Ranks order the keys of a list: the
/// smallest is first, 0 leaves the key out. They are multiples of ten, so that a new key fits between two.
struct KeyUse {
    std::uint8_t title = 0;        ///< in titles of runs, where it differs between them
    std::string_view letters = {}; ///< stands for the key before a number in short titles; no two are equal
    std::uint8_t details = 0;      ///< in the tool tip and the details of a run
    std::uint8_t filter = 0;       ///< among what the list of runs is filtered by
    std::uint8_t alongX = 0;       ///< along the x axis of charts
    std::uint8_t series = 0;       ///< lines of charts
    std::uint8_t caption = 0;      ///< in captions of charts, if all runs have one value
    bool ofRecording = false;      ///< says how a run was recorded, not what ran
    std::string_view leader = {};  ///< the key that determines this one, unless the spec sets it
    bool equalsLeader = false;     ///< by having its value; otherwise by one value for each of the leader's
};

/// One key of the spec. Validation, --help, the help pages, the JSON Schema and the form of the window are
/// all made from this.
struct KeyInfo {
    std::string_view name;       ///< as in specs: d_head
    std::string_view label = {}; ///< the words of forms: Head dim
    ValueType type = ValueType::Text;
    KeyGroup group = KeyGroup::Experiment;
    std::vector<std::string> choices =
        {};             ///< allowed words, in order: all words of a Choice, the fixed words of other types
    double minimum = 0; ///< of Integer, Real, Duration and Size (bytes); of a Text, its length
    double maximum = 0;
    std::string_view defaultText = {}; ///< "8 (attention), 4 (lm)"
    std::string_view help = {};        ///< one line
    std::string_view example = {};     ///< a value other than the default, in YAML
    bool common = false;               ///< forms always show it; other keys are collapsed
    bool attention = true;             ///< applies to workload attention
    bool lm = true;                    ///< applies to workload lm
    bool studies = false;              ///< applies to accumulation, dtypes, products, collective
    bool collective = false;           ///< applies to workload collective
    bool generation = false;           ///< applies to mode generate alone
    /// Runs of earlier versions lack the key. At its default it is left out of what is stored, so that such runs have the
    /// same hash.
    bool addedLater = false;
    bool sweepable = true;                   ///< allowed under `sweep`
    std::vector<std::string> lmChoices = {}; ///< the words of `choices` that only workload lm allows
    KeyUse use = {};

    bool appliesTo(Workload workload) const;
    /// The default for one workload: "8". A key has one default for all workloads or one per workload.
    std::string defaultFor(Workload workload) const;
    /// The allowed values as text: "1 to 65,536", "auto, cpu, cuda, cuda:N".
    std::string allowed() const;
    /// The allowed values for one workload, as text.
    std::string allowed(Workload workload) const;
};

/// All run keys, in the order in which help, forms and files list them. Any thread.
std::span<const KeyInfo> keys();

/// The names of the keys with a rank, in its order. Any thread.
std::vector<std::string_view> keysBy(std::uint8_t KeyUse::*rank);

/// Finds a key by name; `-` and `_` are equivalent. nullptr if there is none.
const KeyInfo* findKey(std::string_view name);

/// A key of the spec's workload and its resolved value as JSON text (`64`, `"bf16"`, `true`). In lists, keys
/// are in schema order. An lm without ranks leaves out `gpus`, `parallel` and `bucket`; keys that were added later are
/// left out at their defaults, and keys of mode generate in other modes.
struct ResolvedValue {
    std::string_view key;
    std::string json;
};
std::vector<ResolvedValue> resolvedValues(const ExperimentSpec& spec);

/// The resolved keys as one JSON object, in schema order. Stored with each run; `show runs` prints it as
/// params.
std::string toJson(const ExperimentSpec& spec);

/// Parses the result of toJson(). Missing keys get their defaults. Rules between keys are not checked.
/// \throws Error  the object is invalid (unknown key, wrong type, out of range)
ExperimentSpec fromJson(std::string_view json);

/// Like fromJson(), but returns none and sets `why` if the object is invalid, for example in a run of another
/// program or a newer version.
std::optional<ExperimentSpec> specOf(std::string_view json, std::string* why = nullptr);

/// SHA-256 (hex) of all resolved keys except name, timeout and repeat. Runs with equal hashes did the same
/// work.
std::string specHash(const ExperimentSpec& spec);

/// JSON Schema (draft 2020-12) of spec files; resources/schema/spec.schema.json is this text.
std::string jsonSchema();

/// The keys of a workload as `--help` prints them: one per line, with allowed values and default, wrapped at
/// `width`.
std::string keysHelp(Workload workload, int width = 80);

/// The keys as Markdown tables, one per group. resources/help/spec.md contains this text.
std::string keysMarkdown();

} // namespace tilescope::config
