#include "core/exchange/advice/answer_sections.h"

#include "core/exchange/tables/json_text.h"
#include "core/exchange/tables/number.h"
#include "core/exchange/tables/section_parts.h"
#include "core/exchange/tables/text.h"

#include <algorithm>
#include <ostream>

namespace tilescope::exchange {

namespace {

std::string figureText(const query::AnswerFigure& figure)
{
    if (!figure.value)
        return "-";
    if (figure.unit == "ns")
        return withUnit(*figure.value, Unit::Nanoseconds);
    if (figure.unit == "%")
        return withUnit(*figure.value, Unit::Percent);
    if (figure.unit == "FLOP")
        return withUnit(*figure.value, Unit::Operations) + "FLOP";
    return Scale{}.text(*figure.value);
}

RawJson figuresJson(const query::Answer& answer)
{
    return jsonList(answer.figures, [](const query::AnswerFigure& figure) {
        return JsonObject()
            .add("label", figure.label)
            .add("value", figure.value)
            .add("unit", cellOrNull(figure.unit))
            .add("note", cellOrNull(figure.note))
            .json();
    });
}

} // namespace

Table tableOf(std::shared_ptr<const query::AnswersTable> answers)
{
    using Row = query::Answer;
    const auto column = columnsOf(answers);
    Table table{.heading = describeRun(answers->run), .rows = answers->rows.size()};
    if (!answers->process.empty())
        table.heading += "; " + answers->process;
    table.columns = {column("name", "name", &Row::name),
                     column("question", "question", &Row::question),
                     column("rank", "rank", [rank = answers->rank](const Row&) { return rank; }),
                     column("answer", "answer", &Row::sentence),
                     column("figures", "figures", figuresJson),
                     column("command", "command", [](const Row& row) { return cellOrNull(row.command); })};
    return table;
}

void writeAnswers(std::ostream& out, const query::AnswersTable& answers)
{
    out << escapeForTerminal(describeRun(answers.run))
        << (answers.run.coversRecording() ? "; steps of the recording" : "; traced steps");
    if (!answers.process.empty())
        out << " of " << escapeForTerminal(answers.process) << " (--rank or --process selects another)";
    out << '\n';
    for (const query::Answer& answer : answers.rows) {
        out << '\n' << answer.name << ": " << answer.question << '\n';
        out << "  " << escapeForTerminal(answer.sentence) << '\n';
        std::size_t width = 0;
        std::vector<std::string> values;
        std::size_t valueWidth = 0;
        for (const query::AnswerFigure& figure : answer.figures) {
            width = std::max(width, figure.label.size());
            values.push_back(figureText(figure));
            valueWidth = std::max(valueWidth, values.back().size());
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
            const query::AnswerFigure& figure = answer.figures[i];
            out << "    " << escapeForTerminal(figure.label)
                << std::string(width - figure.label.size() + 2, ' ')
                << std::string(valueWidth - values[i].size(), ' ') << values[i];
            if (!figure.note.empty())
                out << "  " << escapeForTerminal(figure.note);
            out << '\n';
        }
        if (!answer.command.empty())
            out << "    -> " << escapeForTerminal(answer.command) << '\n';
    }
}

} // namespace tilescope::exchange
