#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::testing {

/// Where `json` breaks the JSON Schema in `schemaFile`: one line a place, as `/0/step_ms/n: expected
/// integer`. Empty when it is valid.
///
/// Knows the part of draft 2020-12 that resources/schema uses: type, const, enum, required, properties,
/// additionalProperties, patternProperties, items, prefixItems, minItems, maxItems, minimum, maximum,
/// exclusiveMinimum, minLength, pattern, anyOf, allOf, $ref to #/$defs or to a file beside it.
/// \throws std::runtime_error  text that is no JSON; a keyword it does not know (nothing goes unchecked)
std::vector<std::string> schemaOffences(std::string_view json, const std::filesystem::path& schemaFile);

} // namespace tilescope::testing
