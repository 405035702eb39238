#pragma once

#include "core/analysis/compare/gate.h"
#include "core/query/compare/compare_tables.h"

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <optional>

namespace tilescope::report {

/// A comparison as Markdown that fits a pull request: sentence, flags, times and memory, and folded tables of
/// what differs.
/// \param gate  its sentence comes first
/// \param rows  the maximum number of rows of a table; 0: all
void writeComparisonMarkdown(std::ostream& out, const std::shared_ptr<const query::Comparison>& comparison,
                             const std::optional<analysis::Gate>& gate, std::size_t rows);

} // namespace tilescope::report
