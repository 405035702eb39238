#include "ui/kit/table_cells.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

TableColumn makeColumn(const QString& title, TableColumn::Kind kind, double width, bool dim)
{
    TableColumn column;
    column.title = title;
    column.kind = kind;
    column.width = width;
    column.dim = dim;
    return column;
}

TableCell makeWords(const QString& text, const QString& exact, Tone tone)
{
    TableCell cell;
    cell.text = text;
    cell.exact = exact;
    cell.tone = tone;
    return cell;
}

TableCell makeNumber(std::optional<double> value, const Unit& unit, QString (*exact)(std::int64_t))
{
    if (!value)
        return makeWords(notMeasured());
    TableCell cell = makeWords(columnDigits(*value, unit));
    if (exact)
        cell.exact = exact(std::llround(*value));
    cell.sort = *value;
    return cell;
}

TableCell makeCount(double count)
{
    TableCell cell = makeWords(count == 0                   ? notMeasured()
                               : count == std::floor(count) ? wholeNumber(std::int64_t(count))
                                                            : threeDigits(count));
    cell.sort = count;
    return cell;
}

QString titleIn(const QString& title, const Unit& unit)
{
    const QString word = QString::fromStdString(unit.suffix);
    return title.isEmpty() || word.isEmpty() ? title + word : title + QStringLiteral(", ") + word;
}

TableCell makeBar(double part, double most)
{
    TableCell cell;
    cell.bar = most > 0 ? part / most : 0;
    cell.sort = part;
    return cell;
}

TableCell makeCell(const exchange::Cell& value, const exchange::Column& column, const Unit& unit)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return makeWords(QString::fromStdString(*text));
    if (const auto* interval = std::get_if<analysis::ConfidenceInterval>(&value)) {
        TableCell cell =
            makeWords(QStringLiteral("%1 to %2")
                          .arg(columnDigits(interval->low, unit), columnDigits(interval->high, unit)));
        cell.sort = interval->high - interval->low;
        return cell;
    }
    double number = 0;
    if (const auto* whole = std::get_if<std::int64_t>(&value))
        number = double(*whole);
    else if (const auto* real = std::get_if<double>(&value))
        number = *real;
    else if (const auto* statistics = std::get_if<analysis::Statistics>(&value))
        number = statistics->median;
    else
        return makeWords(notMeasured());
    // Whole numbers of ns and B have no decimals either.
    const bool isCount =
        std::holds_alternative<std::int64_t>(value) &&
        (column.meaning == exchange::Meaning::Difference ? unit.suffix.empty() : unit.divisor == 1);
    TableCell cell =
        makeWords(unit.hexadecimal ? QString::fromStdString(unit.text(std::int64_t(number)))
                  : isCount        ? wholeNumber(std::int64_t(number))
                  : column.meaning == exchange::Meaning::Difference ? signedColumnDigits(number, unit)
                                                                    : columnDigits(number, unit));
    cell.sort = number;
    constexpr double kNsPerMs = 1e6;
    if (column.unit == quantity::Unit::Nanoseconds)
        cell.exact = exactTime(std::llround(number));
    else if (column.unit == quantity::Unit::Milliseconds)
        cell.exact = exactTime(std::llround(number * kNsPerMs));
    else if (column.unit == quantity::Unit::Bytes)
        cell.exact = exactBytes(std::llround(number));
    else if (!unit.suffix.empty())
        cell.exact = withUnit(cell.text, unit.suffix);
    return cell;
}

TableCell makePlain(const exchange::Cell& value, const exchange::Column& column)
{
    if (const auto* text = std::get_if<std::string>(&value))
        return makeWords(QString::fromStdString(*text));
    const auto* whole = std::get_if<std::int64_t>(&value);
    if (whole == nullptr)
        return makeWords(notMeasured());
    const Unit unit = quantity::scaleFor(column.unit, 0);
    return makeWords(unit.hexadecimal ? QString::fromStdString(unit.text(*whole)) : QString::number(*whole));
}

std::shared_ptr<const Unit> ColumnUnits::add(const exchange::Column& column, double largest)
{
    if (column.unitGroup == 0)
        return std::make_shared<const Unit>(quantity::scaleFor(column.unit, largest));
    const std::pair group(column.unit, column.unitGroup);
    auto shared = std::ranges::find(shared_, group, &Shared::group);
    if (shared == shared_.end())
        shared = shared_.insert(shared_.end(), {group, {}, std::make_shared<Unit>()});
    shared->largest.push_back(largest);
    *shared->unit = quantity::commonScale(column.unit, shared->largest);
    return shared->unit;
}

namespace {

QString headingOf(const std::string& heading)
{
    QString title = QString::fromStdString(heading).replace(QLatin1String(" - "), QStringLiteral(" − "));
    if (!title.isEmpty())
        title[0] = title[0].toUpper();
    return title;
}

} // namespace

QString titleOf(const exchange::Column& column)
{
    return headingOf(column.title);
}

QString shortTitleOf(const exchange::Column& column)
{
    return headingOf(column.shortTitle.empty() ? column.title : column.shortTitle);
}

TableColumn makeColumnOf(const exchange::Column& column, TableColumn::Kind kind, double width,
                         const QString& run)
{
    return makeColumn((titleOf(column) + QLatin1Char(' ') + run).trimmed(), kind, width);
}

} // namespace tilescope::ui
