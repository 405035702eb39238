#pragma once

#include "core/exchange/sections.h"
#include "core/query/tables/answers.h"

#include <iosfwd>

namespace tilescope::exchange {

/// For programs: one object an answer.
Table tableOf(std::shared_ptr<const query::AnswersTable> answers);

/// For people: each question with its sentence, its figures and the command behind them.
void writeAnswers(std::ostream& out, const query::AnswersTable& answers);

} // namespace tilescope::exchange
