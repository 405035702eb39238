#include "core/exchange/answer_sections.h"

#include "core/exchange/columns.h"
#include "core/exchange/number.h"
#include "core/exchange/text.h"

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

std::string figuresJson(const std::vector<query::AnswerFigure>& figures)
{
    std::string text = "[";
    for (const query::AnswerFigure& figure : figures) {
        if (text.size() > 1)
            text += ", ";
        text += "{\"label\": " + jsonString(figure.label) +
                ", \"value\": " + cellJson(figure.value ? Cell(*figure.value) : Cell()) +
                ", \"unit\": " + (figure.unit.empty() ? "null" : jsonString(figure.unit)) +
                ", \"note\": " + (figure.note.empty() ? "null" : jsonString(figure.note)) + "}";
    }
    return text + "]";
}

} // namespace

Table tableOf(std::shared_ptr<const query::AnswersTable> answers)
{
    const auto column = [&answers](std::string key, auto get) {
        return Column{.key = key, .title = key, .cell = [answers, get](std::size_t row) -> Cell {
                          return get(answers->rows[row]);
                      }};
    };
    using Row = query::Answer;
    Table table{.heading = describeRun(answers->run), .rows = answers->rows.size()};
    if (!answers->process.empty())
        table.heading += "; " + answers->process;
    table.columns = {
        column("name", [](const Row& row) { return cellOf(row.name); }),
        column("question", [](const Row& row) { return cellOf(row.question); }),
        column("rank",
               [rank = answers->rank](const Row&) { return rank ? Cell(std::int64_t{*rank}) : Cell(); }),
        column("answer", [](const Row& row) { return cellOf(row.sentence); }),
        column("figures", [](const Row& row) { return Cell(RawJson{figuresJson(row.figures)}); }),
        column("command", [](const Row& row) { return cellOrNull(row.command); })};
    return table;
}

void writeAnswers(std::ostream& out, const query::AnswersTable& answers)
{
    out << escapeForTerminal(describeRun(answers.run)) << "; traced steps";
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
