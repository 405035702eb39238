#pragma once

#include "core/model/spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

/// Where something was written: line and column from 1, a flag, or nowhere (made by a program).
struct Position {
    int line = 0;
    int column = 0;

    bool operator==(const Position&) const = default;
};

/// A value as it was written, not yet judged: `8`, `"8"`, `[a, b]`.
struct SpecValue {
    enum class Kind { Missing, Scalar, List, Map };
    Kind kind = Kind::Scalar;
    std::string text = {}; ///< of a Scalar
    bool quoted = false;   ///< a Scalar in quotes (or in need of them) is text, whatever it looks like
    std::vector<SpecValue> items = {}; ///< of a List
    Position position = {};

    /// Same value, wherever it was written.
    bool operator==(const SpecValue& other) const;
};

/// A spec as it was written, before its sweep is expanded: what the GUI edits and a file holds.
///
/// Made by parseDocument from YAML, turned back by toYaml, and into points by expand. Keys keep the order of
/// the file, comments stay with the key they precede. A plain value; nothing in it is checked beyond the form
/// of the document, so that half-finished input can be held.
class SpecDocument {
public:
    /// A key with one value, at top level, under `fixed`, or in an explicit point.
    struct Entry {
        std::string key;
        SpecValue value = {};
        Position position = {};
        std::string flag = {};    ///< `--set batch` where it came from the command line
        bool underFixed = false;  ///< written under `fixed` rather than at top level
        std::string comment = {}; ///< lines above it, `#` and all
        std::string remark = {};  ///< comment at the end of its line

        /// Same key and value, wherever and with whatever comments they were written.
        bool operator==(const Entry& other) const { return key == other.key && value == other.value; }
    };
    /// A key that `sweep` turns through its values.
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
    /// Comments that belong to no key.
    struct Comments {
        std::string header = {}; ///< what the file begins with
        std::string fixed = {};  ///< above `fixed:`
        std::string sweep = {};  ///< above `sweep:`
        std::string footer = {}; ///< below everything
    };

    std::string origin;        ///< file name or what stands for it in messages
    std::vector<Entry> fixed;  ///< top level and `fixed`, in order
    std::vector<Axis> axes;    ///< a product, the last turning fastest
    std::vector<Point> points; ///< explicit points; each is multiplied by the axes where there are both
    Comments comments;

    const Entry* findFixed(std::string_view key) const; ///< nullptr where the key has no fixed value
    const Axis* findAxis(std::string_view key) const;   ///< nullptr where the key is not swept by a map

    /// Gives the key one value, or, where `yaml` is a list, sweeps it; it keeps its place and comments where
    /// it is fixed or swept already. `-` and `_` in the key are the same.
    /// \param flag    what messages name as the place: `--set batch`
    /// \throws Error  where the text is no YAML
    void set(std::string_view key, std::string_view yaml, std::string_view flag = {});

    /// Removes the key from every place in the spec. Points that differ only in this key become one.
    /// \return  false if the spec does not have the key
    bool remove(std::string_view key);

    /// Number of points that it stands for, without expanding them; at most 2^63-1.
    std::int64_t pointCount() const;
};

inline constexpr std::int64_t kMaximumPoints = 100'000;

/// \throws Error  where the sweep has more than kMaximumPoints
void requirePointCount(const SpecDocument& document);

/// Reads YAML into a document: the form is checked (known places, no key twice), values are not.
///
/// The text is hostile until parsed: size, depth, aliases and the number of values are bounded.
/// \param origin  stands where the file's name would in messages
/// \throws Error  one sentence with origin:line:column
SpecDocument parseDocument(std::string_view yaml, std::string_view origin);

/// The document as YAML that parseDocument reads back as the same document.
/// \throws Error  where points and axes multiply to more than kMaximumPoints
std::string toYaml(const SpecDocument& document);

/// A value as YAML on one line: what a form's field holds and `set` takes.
std::string toYaml(const SpecValue& value);

/// What becomes of a point that its device cannot run (compile: graph on device: cpu).
enum class DevicePolicy {
    Refuse, ///< a slip, in a spec of a person's own
    Skip,   ///< a point as any other: its run ends as skipped and says why
};

/// Every point fully resolved and checked, in sweep order.
/// \throws Error  one sentence with the place, the key, what is allowed and the nearest right spelling
std::vector<ExperimentSpec> expand(const SpecDocument& document, DevicePolicy policy = DevicePolicy::Refuse);

/// Something that keeps a document from being expanded.
struct SpecProblem {
    std::string key;      ///< the field to mark; empty where no single one is to blame
    std::string sentence; ///< what is wrong and how to mend it, without the place
    std::string where;    ///< file:line:column, or a flag
};

/// Everything that is wrong with single values, or else the first rule between keys that a point breaks;
/// empty where `expand` would succeed. For a form that marks its fields while they are being filled. As
/// costly as `expand`; at most 100 problems.
std::vector<SpecProblem> problemsOf(const SpecDocument& document);

} // namespace tilescope::config
