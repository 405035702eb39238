#pragma once

#include "core/config/spec_document.h"

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::config {

inline constexpr std::size_t kMaximumYamlBytes = 4 << 20;
inline constexpr std::size_t kMaximumYamlNodes = 1'000'000;
inline constexpr std::size_t kMaximumYamlKeys = 256; ///< per map
inline constexpr int kMaximumYamlDepth = 16;

/// Parses one untrusted YAML document. Bytes, depth, nodes (aliases expanded) and tags are limited, which
/// bounds time and memory. An alias becomes a copy of its anchor's value. A text without a value gives Missing.
/// \param where  precedes `:line:column` in messages
/// \throws Error  the parser's error or an exceeded limit, with its position
SpecValue readYaml(std::string_view text, std::string_view where);

/// Whether YAML reads the text back unchanged without quotes, also within a list.
bool isPlainYaml(std::string_view text);

/// `file:line:column`, or only `file` if the position is unknown.
std::string placeOf(std::string_view where, Position position);

} // namespace tilescope::config
