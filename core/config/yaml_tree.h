#pragma once

#include "core/config/spec_document.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

struct YamlNode;
using YamlNodePtr = std::shared_ptr<const YamlNode>;

struct YamlEntry {
    std::string key;
    Position position;
    YamlNodePtr value;
};

/// A node of a YAML document. Aliases share the node they name.
struct YamlNode {
    enum class Kind { Null, Scalar, List, Map };
    Kind kind = Kind::Null;
    bool quoted = false;
    Position position;
    std::string text;               ///< Scalar
    std::vector<YamlNodePtr> items; ///< List
    std::vector<YamlEntry> entries; ///< Map, no key twice
    std::size_t weight = 1;         ///< nodes below and with this one, each alias counted in full
};

inline constexpr std::size_t kMaximumYamlBytes = 4 << 20;
inline constexpr std::size_t kMaximumYamlNodes = 1'000'000;
inline constexpr std::size_t kMaximumYamlKeys = 256; ///< in one map
inline constexpr int kMaximumYamlDepth = 16;

/// Reads one YAML document whose author may mean harm: bytes, depth, nodes (aliases expanded) and tags are
/// bounded, in work as in memory. Null where the text holds no value.
/// \param where  what stands before `:line:column` in messages
/// \throws Error  what the parser or a bound refuses, with its place
YamlNodePtr readYaml(std::string_view text, std::string_view where);

/// Whether YAML reads the text back as itself without quotes, in a list too.
bool isPlainYaml(std::string_view text);

/// The part of the tree that a spec's value may be: scalars and lists of them, copied. Text that could
/// not be written again without quotes counts as quoted.
SpecValue valueOf(const YamlNodePtr& node);

/// `file:line:column`, or `file` alone where the position is unknown.
std::string placeOf(std::string_view where, Position position);

} // namespace tilescope::config
