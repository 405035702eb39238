#include "ui/query/result_rows.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <algorithm>
#include <optional>

namespace tilescope::ui {

namespace {

using Value = store::SqlResult::Value;

constexpr std::size_t kMostLabels = 40; // bars that a plot can label legibly

std::optional<double> numberOf(const Value& value)
{
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return double(*whole);
    if (const auto* real = std::get_if<double>(&value))
        return *real;
    return {};
}

QString textOf(const Value& value)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return QString::fromStdString(*text);
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        return wholeNumber(*whole);
    if (const auto* real = std::get_if<double>(&value))
        return threeDigits(*real);
    return notMeasured();
}

TableCell cellOf(const Value& value)
{
    TableCell cell;
    cell.text = textOf(value);
    if (const auto number = numberOf(value)) {
        cell.sort = *number;
        cell.exact = std::holds_alternative<double>(value) ? QString::number(*number, 'g', 17)
                                                           : QString::number(std::get<std::int64_t>(value));
    } else if (std::holds_alternative<std::monostate>(value)) {
        cell.tone = Tone::Dim;
    }
    return cell;
}

bool isNumber(const store::SqlResult& result, std::size_t column)
{
    bool any = false;
    for (std::size_t row = 0; row < result.rows(); ++row) {
        const Value& value = result.at(row, column);
        if (std::holds_alternative<std::string>(value))
            return false;
        any = any || !std::holds_alternative<std::monostate>(value);
    }
    return any;
}

QString forRun(const char* sql, std::int64_t run)
{
    const QString text = QString::fromUtf8(sql);
    return text.contains(QLatin1String("%1")) ? text.arg(run) : text;
}

} // namespace

const std::vector<ExampleStatement>& exampleStatements()
{
    static const std::vector<ExampleStatement> all{
        {QT_TRANSLATE_NOOP("QueryPage", "Kernels with the largest total time"),
         "select kernel_name(name) as kernel, kernel_family(name) as family,\n"
         "  count(*) as instances, sum(duration) as total_ns, avg(duration) as avg_ns\n"
         "from kernels\n"
         "where run = %1\n"
         "group by 1, 2\n"
         "order by total_ns desc\n"
         "limit 20",
         "kernels where run = %1"},
        {QT_TRANSLATE_NOOP("QueryPage", "GPU time of each family of kernels"),
         "select kernel_family(name) as family, count(*) as instances, sum(duration) as total_ns\n"
         "from kernels\n"
         "where run = %1\n"
         "group by family\n"
         "order by total_ns desc",
         "kernels where run = %1"},
        {QT_TRANSLATE_NOOP("QueryPage", "Ops with the largest total time"),
         "select name, count(*) as calls, sum(duration) as total_ns\n"
         "from ops\n"
         "where run = %1\n"
         "group by name\n"
         "order by total_ns desc\n"
         "limit 20",
         "ops where run = %1 and duration > 0"},
        {QT_TRANSLATE_NOOP("QueryPage", "Time of each timed step"),
         "select step, wall_ns, gpu_ns\n"
         "from samples\n"
         "where run = %1 and kind = 'measure' and phase = 'step'\n"
         "order by step",
         "samples where run = %1 and kind = 'measure' and phase = 'step'"},
        {QT_TRANSLATE_NOOP("QueryPage", "Time between launch and start of each kernel"),
         "select start, start - launched as queued_ns, kernel_name(name) as kernel\n"
         "from kernels\n"
         "where run = %1 and launched is not null\n"
         "order by start",
         "kernels where run = %1 and launched is not null"},
        {QT_TRANSLATE_NOOP("QueryPage", "Ranges with the largest total time"),
         "select path, count(*) as instances, sum(duration) as total_ns\n"
         "from ranges\n"
         "where run = %1\n"
         "group by path\n"
         "order by total_ns desc\n"
         "limit 20",
         "ranges where run = %1 and duration > 0"},
        {QT_TRANSLATE_NOOP("QueryPage", "Allocated bytes over time"),
         "select start, allocated\n"
         "from allocations\n"
         "where run = %1 and allocated is not null\n"
         "order by start",
         "allocations where run = %1"},
        {QT_TRANSLATE_NOOP("QueryPage", "The runs of the file"),
         "select run, name, status, device, peak_allocated, seconds\n"
         "from runs\n"
         "order by run",
         "runs"},
    };
    return all;
}

QString firstStatement(const std::filesystem::path& file, std::int64_t run, const query::Cancelled& cancelled)
{
    const std::vector<ExampleStatement>& all = exampleStatements();
    // One after the other: a question without an answer may read all rows of the run.
    const auto hasRows = [&](const ExampleStatement& example) {
        const QString sql = QStringLiteral("select 1 from %1 limit 1").arg(forRun(example.rows, run));
        return cancelled() ||
               store::runSql(file, sql.toStdString(), {.rows = 1}, {}, exchange::sqlFunctions()).rows() > 0;
    };
    const auto first = std::find_if(all.begin(), all.end() - 1, hasRows);
    return statementOf(*first, run);
}

QString statementOf(const ExampleStatement& example, std::int64_t run)
{
    return forRun(example.sql, run);
}

TableData resultRows(const store::SqlResult& result)
{
    using Kind = TableColumn::Kind;
    constexpr double kNumberWidth = 120;
    TableData data;
    for (std::size_t i = 0; i < result.columns.size(); ++i) {
        const bool number = isNumber(result, i);
        data.columns.push_back(makeColumn(QString::fromStdString(result.columns[i]),
                                          number ? Kind::Number : Kind::Text, number ? kNumberWidth : 0));
    }
    data.rows.resize(result.rows());
    for (std::size_t row = 0; row < data.rows.size(); ++row) {
        data.rows[row].id = std::int64_t(row);
        for (std::size_t column = 0; column < result.columns.size(); ++column)
            data.rows[row].cells.push_back(cellOf(result.at(row, column)));
    }
    return data;
}

std::vector<std::size_t> numberColumns(const store::SqlResult& result)
{
    std::vector<std::size_t> columns;
    for (std::size_t i = 0; i < result.columns.size(); ++i)
        if (isNumber(result, i))
            columns.push_back(i);
    return columns;
}

ResultSeries seriesOf(const store::SqlResult& result, std::size_t keys, std::size_t values)
{
    ResultSeries series;
    const bool isText = !isNumber(result, keys);
    for (std::size_t row = 0; row < result.rows(); ++row) {
        const auto value = numberOf(result.at(row, values));
        const auto key =
            isText ? std::optional(double(series.labels.size())) : numberOf(result.at(row, keys));
        if (!value || !key)
            continue;
        if (isText && std::size_t(series.labels.size()) == kMostLabels) {
            series.isCut = true;
            break;
        }
        series.keys.push_back(*key);
        series.values.push_back(*value);
        if (isText)
            series.labels << textOf(result.at(row, keys));
    }
    return series;
}

} // namespace tilescope::ui
