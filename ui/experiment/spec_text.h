#pragma once

#include "core/config/spec_document.h"

#include <optional>
#include <string>

namespace tilescope::ui {

/// `text` with only the values and keys changed in which `wanted` differs. Blank lines, order, indentation
/// and comments of the rest stay.
///
/// Null if that cannot be done line by line (flow maps that gain or lose keys, explicit points that change);
/// the caller then writes the whole document. The result parses as `wanted`.
std::optional<std::string> withChanges(const std::string& text, const config::SpecDocument& wanted);

} // namespace tilescope::ui
