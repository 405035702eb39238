#pragma once

#include "core/exchange/tables/sections.h"
#include "core/query/advice/answers.h"

#include <iosfwd>

namespace tilescope::exchange {

/// The table for programs: one object per answer.
Table tableOf(std::shared_ptr<const query::AnswersTable> answers);

/// Writes text for people: each question with its answer in a sentence, the figures and the command that shows them.
void writeAnswers(std::ostream& out, const query::AnswersTable& answers);

} // namespace tilescope::exchange
