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

/// A node of a YAML document. An alias shares the node of its anchor.
struct YamlNode {
    enum class Kind { Null, Scalar, List, Map };
    Kind kind = Kind::Null;
    bool quoted = false;
    Position position;
    std::string text;               ///< Scalar
    std::vector<YamlNodePtr> items; ///< List
    std::vector<YamlEntry> entries; ///< Map; keys are unique
    std::size_t weight = 1;         ///< number of nodes in this subtree; each alias counts in full
};

inline constexpr std::size_t kMaximumYamlBytes = 4 << 20;
inline constexpr std::size_t kMaximumYamlNodes = 1'000'000;
inline constexpr std::size_t kMaximumYamlKeys = 256; ///< per map
inline constexpr int kMaximumYamlDepth = 16;

/// Parses one untrusted YAML document. Bytes, depth, nodes (aliases expanded) and tags are limited, which
/// bounds time and memory. Null if the text has no value.
/// \param where  precedes `:line:column` in messages
/// \throws Error  the parser's error or an exceeded limit, with its position
YamlNodePtr readYaml(std::string_view text, std::string_view where);

/// Whether YAML reads the text back unchanged without quotes, also within a list.
bool isPlainYaml(std::string_view text);

/// Copies scalars and lists of scalars as a spec value. Text that needs quotes counts as quoted.
SpecValue valueOf(const YamlNodePtr& node);

/// `file:line:column`, or only `file` if the position is unknown.
std::string placeOf(std::string_view where, Position position);

} // namespace tilescope::config
