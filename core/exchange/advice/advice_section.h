#pragma once

#include "core/exchange/tables/sections.h"
#include "core/query/advice/advice_table.h"

#include <iosfwd>

namespace tilescope::exchange {

/// One row per finding, then one row per rule that cannot be judged.
Table tableOf(std::shared_ptr<const query::AdviceTable> advice);

/// Writes text for people: each finding with its figures, the rows behind it, a remedy and a command.
/// \param most  rows of evidence of a finding; 0: all
void writeAdvice(std::ostream& out, const query::AdviceTable& advice, std::size_t most);

/// In sentences: the rules that could not be judged and why, those that found nothing, and how findings relate.
std::vector<std::string> closingNotes(const query::AdviceTable& advice);

/// The denominator of the shares in a sentence.
std::string denominatorOf(const query::AdviceTable& advice);

} // namespace tilescope::exchange
