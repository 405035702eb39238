#pragma once

#include "core/analysis/compare/gate.h"
#include "core/exchange/tables/table.h"
#include "core/query/compare/compare_tables.h"

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::exchange {

/// A comparison as tables, each with the name that it has in JSON: parameters, environment, times, parts,
/// memory, families, kernels (or ops), ranges, idle lines. Empty tables are left out for people and kept for programs.
struct NamedTable {
    std::string name;
    Table table;
};
std::vector<NamedTable> tablesOf(std::shared_ptr<const query::Comparison> comparison);
/// The tables for people: families, kernels and ranges only if they differ, with a note that counts the rest.
std::vector<NamedTable> differencesOf(std::shared_ptr<const query::Comparison> comparison);

/// inconclusive, no-difference, faster, slower (B against A), or untested; by the step's wall.
std::string_view verdictOf(const query::Comparison& comparison);

/// The verdict in one sentence, with the ratio and its interval.
std::string sentenceOf(const query::Comparison& comparison);

/// The runs of a side that has several, after a comma: `, 24 repeats: runs 1, 3, 5 and 21 more`; empty for one.
std::string repeatsText(const query::ComparedRun& side);

/// The flags of the compared runs, which stand beside the verdict: `B, run 3: busy-host: …`. At most seven
/// lines.
std::vector<std::string> flagLines(const query::Comparison& comparison);

/// The whole comparison as one JSON object; resources/schema/compare.schema.json.
/// \param gate  none: null in JSON
void writeComparisonJson(std::ostream& out, std::shared_ptr<const query::Comparison> comparison,
                         const std::optional<analysis::Gate>& gate = {});

/// Writes the sentence and the tables; those of kernels, families, ranges and memory have only rows that differ.
/// \param memoryBy  an additional grouping of blocks: category, op, module, range or size
void writeComparisonTerminal(std::ostream& out, std::shared_ptr<const query::Comparison> comparison,
                             const TerminalStyle& style, const std::string& memoryBy = "range");

} // namespace tilescope::exchange
