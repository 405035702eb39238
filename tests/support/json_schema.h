#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::testing {

/// The violations of the JSON Schema in `schemaFile`, one line each: `/0/step_ms/n: expected integer`. Empty
/// if `json` is valid.
///
/// Supports the subset of draft 2020-12 that resources/schema uses: type, const, enum, required, properties,
/// additionalProperties, patternProperties, items, prefixItems, minItems, maxItems, minimum, maximum,
/// exclusiveMinimum, minLength, pattern, anyOf, allOf, $ref to #/$defs or to a file in the same folder.
/// With TILESCOPE_UPDATE set, updateRowsOfSchema() comes first.
/// \throws std::runtime_error  the text is not JSON; an unsupported keyword
std::vector<std::string> schemaOffences(std::string_view json, const std::filesystem::path& schemaFile);

/// Gives the schema of an array the keys of its rows, in their order; it is created if it does not exist. What it says of
/// keys that it had stays; new ones have the types of their values and wait for a description. Does nothing without rows.
void updateRowsOfSchema(std::string_view json, const std::filesystem::path& schemaFile);

} // namespace tilescope::testing
