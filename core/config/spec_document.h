#pragma once

#include "core/model/spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// Where a value was written: line and column from 1. {0, 0} for values from a flag or a program.
struct Position {
    int line = 0;
    int column = 0;

    bool operator==(const Position&) const = default;
};

/// A value of a YAML file as written, before validation: `8`, `"8"`, `[a, b]`, `{key: 8}`.
struct SpecValue {
    enum class Kind { Missing, Scalar, List, Map };
    struct Key {
        std::string text;
        Position position;

        bool operator==(const Key& other) const { return text == other.text; }
    };
    struct Entry;

    Kind kind = Kind::Scalar;
    std::string text = {}; ///< of a Scalar
    bool quoted = false;   ///< quoted in the file, or needs quotes: text, even if it looks like a number
    std::vector<SpecValue> items = {}; ///< of a List; of a Map: its values
    std::vector<Key> keys = {};        ///< of a Map: unique, one for each of `items`
    Position position = {};

    /// The keys and values of a Map; valid while this value is unchanged. O(keys).
    std::vector<Entry> entries() const;

    /// Compares the values only, not their positions.
    bool operator==(const SpecValue& other) const;
};

struct SpecValue::Entry {
    const std::string& key;
    const SpecValue& value;
    Position position; ///< of the key
};

/// A spec before its sweep is expanded: the content of a file, which the GUI edits.
///
/// parseDocument() reads it from YAML, toYaml() writes it, and expand() makes its points. Keys keep the order
/// of the file, and comments stay with the key that they precede. A plain value. Only the structure of the
/// document is checked, so that it can hold incomplete input.
class SpecDocument {
public:
    /// A key with one value, at top level, under `fixed`, or in an explicit point.
    struct Entry {
        std::string key;
        SpecValue value = {};
        Position position = {};
        std::string flag = {};    ///< `--set batch` if it came from the command line
        bool underFixed = false;  ///< written under `fixed` rather than at top level
        std::string comment = {}; ///< lines above it, including `#`
        std::string remark = {};  ///< comment at the end of its line

        /// Compares key and value only, not positions and comments.
        bool operator==(const Entry& other) const { return key == other.key && value == other.value; }
    };
    /// A key with the values that `sweep` gives it.
    struct Axis {
        std::string key;
        std::vector<SpecValue> values = {};
        Position position = {};
        std::string flag = {};
        std::string comment = {};
        std::string remark = {};

        bool operator==(const Axis& other) const { return key == other.key && values == other.values; }
    };
    /// One explicit point of `sweep`.
    using Point = std::vector<Entry>;
    /// Comments that do not belong to a key.
    struct Comments {
        std::string header = {}; ///< at the start of the file
        std::string fixed = {};  ///< above `fixed:`
        std::string sweep = {};  ///< above `sweep:`
        std::string footer = {}; ///< at the end of the file
    };

    std::string origin;        ///< file name or a substitute for messages
    std::vector<Entry> fixed;  ///< top level and `fixed`, in order
    std::vector<Axis> axes;    ///< their product is formed, the last one varying fastest
    std::vector<Point> points; ///< explicit points; combined with every combination of the axes
    Comments comments;

    const Entry* findFixed(std::string_view key) const; ///< nullptr if the key has no fixed value
    const Axis* findAxis(std::string_view key) const;   ///< nullptr if the key is not an axis

    /// Sets the key to one value, or sweeps it if `yaml` is a list. A key that is already fixed or swept
    /// keeps its place and comments. `-` and `_` in the key are equivalent.
    /// \param flag    names the place in messages: `--set batch`
    /// \throws Error  the text is not valid YAML
    void set(std::string_view key, std::string_view yaml, std::string_view flag = {});

    /// Removes the key from every place in the spec. Points that differ only in this key become one.
    /// \return  false if the spec does not have the key
    bool remove(std::string_view key);

    /// The number of points, computed without expanding them; at most 2^63-1.
    std::int64_t pointCount() const;
};

inline constexpr std::int64_t kMaximumPoints = 100'000;

/// \throws Error  the sweep has more than kMaximumPoints
void requirePointCount(const SpecDocument& document);

/// Parses YAML into a document. Checks the structure (known sections, no duplicate keys), not the values.
///
/// The text is untrusted: size, depth, aliases and the number of values are limited.
/// \param origin  replaces the file name in messages
/// \throws Error  one sentence with origin:line:column
SpecDocument parseDocument(std::string_view yaml, std::string_view origin);

/// The document as YAML. parseDocument() reads it back as an equal document.
/// \throws Error  the points times the axes exceed kMaximumPoints
std::string toYaml(const SpecDocument& document);

/// A value as YAML on one line, as in a form's field and in set().
std::string toYaml(const SpecValue& value);

/// How expand() treats a point that its device cannot run (compile: graph on device: cpu).
enum class DevicePolicy {
    Refuse, ///< an error, in a spec of the user's own
    Skip,   ///< a normal point; its run ends with status skipped and the reason
};

/// All points, resolved and checked, in sweep order.
/// \throws Error  one sentence with place, key, allowed values and the most similar valid spelling
std::vector<ExperimentSpec> expand(const SpecDocument& document, DevicePolicy policy = DevicePolicy::Refuse);

/// A problem that prevents the expansion of a document.
struct SpecProblem {
    std::string key;      ///< the field to mark; empty if no single key is at fault
    std::string sentence; ///< the problem and its remedy, without the place
    std::string where;    ///< file:line:column, or a flag
};

/// All invalid single values, or otherwise the first broken rule between keys; empty if expand() would
/// succeed. Used by forms during editing. As expensive as expand(); at most 100 problems.
std::vector<SpecProblem> problemsOf(const SpecDocument& document);

} // namespace tilescope::config
