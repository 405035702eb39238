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
    std::string text = {};             ///< of a Scalar
    bool quoted = false;               ///< a Scalar in quotes is text, whatever it looks like
    std::vector<SpecValue> items = {}; ///< of a List
    Position position = {};

    /// Same value, wherever it was written.
    bool operator==(const SpecValue& other) const;
};

/// A spec as it was written, before its sweep is expanded: what the GUI edits and a file holds.
///
/// Made by parseDocument from YAML and by toYaml back into it; `expand` turns it into points. Keys keep the
/// order of the file. A plain value; nothing in it is checked beyond the form of the document, so that
/// half-finished input can be held.
class SpecDocument {
public:
    /// A key with one value, at top level or under `fixed`.
    struct Entry {
        std::string key;
        SpecValue value = {};
        Position position = {};
        std::string flag = {};   ///< `--set batch` where it came from the command line
        bool underFixed = false; ///< written under `fixed` rather than at top level

        bool operator==(const Entry& other) const { return key == other.key && value == other.value; }
    };
    /// A key that `sweep` turns through its values.
    struct Axis {
        std::string key;
        std::vector<SpecValue> values = {};
        Position position = {};
        std::string flag = {};

        bool operator==(const Axis& other) const { return key == other.key && values == other.values; }
    };
    /// One explicit point of `sweep`.
    using Point = std::vector<Entry>;

    std::string origin;        ///< file name or what stands for it in messages
    std::vector<Entry> fixed;  ///< top level and `fixed`, in order
    std::vector<Axis> axes;    ///< a product, the last turning fastest
    std::vector<Point> points; ///< explicit points; each is multiplied by the axes where there are both

    /// Takes the key from wherever it stands; false where it stood nowhere.
    bool remove(std::string_view key);

    /// Gives the key one value, or, where `yaml` is a list, sweeps it; it keeps its place where it had one.
    /// \throws Error  where the text is no YAML, with `flag` as the place
    void set(std::string_view key, std::string_view yaml, std::string_view flag = {});

    /// Number of points that it stands for, without expanding them; at most 2^63-1.
    std::int64_t pointCount() const;
};

inline constexpr std::int64_t kMaximumPoints = 100'000;

/// Reads YAML into a document: the form is checked (known places, no key twice), values are not.
///
/// The text is hostile until parsed: size, depth, aliases and the number of values are bounded.
/// \param origin  stands where the file's name would in messages
/// \throws Error  one sentence with origin:line:column
SpecDocument parseDocument(std::string_view yaml, std::string_view origin);

/// The document as YAML that parseDocument reads back as the same document.
std::string toYaml(const SpecDocument& document);

/// Every point fully resolved and checked, in sweep order.
/// \throws Error  one sentence with the place, the key, what is allowed and the nearest right spelling
std::vector<ExperimentSpec> expand(const SpecDocument& document);

} // namespace tilescope::config
