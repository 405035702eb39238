#pragma once

#include "core/machine/machine.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace tilescope::cli {

/// Prints a finding to standard output: verdict, topic and text on a line, the remedy on the next one.
/// \param topicWidth  columns of the topic, so that the findings of a list align
void printFinding(const machine::Finding& finding, std::size_t topicWidth);

/// Prints findings to standard output.
/// \param format  "text" or "json"
void printFindings(const std::vector<machine::Finding>& findings, std::string_view format);

/// 4 if something is missing, otherwise 0.
int exitCodeOf(const std::vector<machine::Finding>& findings);

} // namespace tilescope::cli
