#pragma once

#include "core/config/spec_document.h"

#include <optional>
#include <string>

namespace tilescope::ui {

/// `text` with no more changed than what `wanted` says otherwise: values, keys that are new or gone. Blank
/// lines, order, indentation and comments of the rest stay.
///
/// None where that cannot be done line by line (flow maps that gain or lose keys, explicit points that
/// change): the caller then writes the whole document anew. What is returned reads back as `wanted`.
std::optional<std::string> withChanges(const std::string& text, const config::SpecDocument& wanted);

} // namespace tilescope::ui
