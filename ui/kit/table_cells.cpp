#include "ui/kit/table_cells.h"

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

TableCell makePart(std::optional<double> value, const Unit& unit, QString (*exact)(std::int64_t))
{
    TableCell cell = makeNumber(value, unit, exact);
    cell.sort = value.value_or(0);
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

TableCell makeShare(double part, double whole)
{
    if (whole <= 0)
        return makeWords(notMeasured());
    const double percent = 100 * part / whole;
    constexpr double kLeast = 0.05;
    TableCell cell = makeWords(percent > 0 && percent < kLeast ? QStringLiteral("<0.1")
                                                               : QString::number(percent, 'f', 1));
    cell.sort = part;
    return cell;
}

TableCell makeDifference(double difference, const Unit& unit, Tone tone)
{
    TableCell cell =
        makeWords(difference == 0 ? QStringLiteral("0") : signedColumnDigits(difference, unit), {}, tone);
    cell.sort = difference;
    return cell;
}

QString titleIn(const QString& title, const Unit& unit)
{
    return title.isEmpty() ? QString::fromUtf8(unit.word)
                           : title + QStringLiteral(", ") + QString::fromUtf8(unit.word);
}

TableCell makeBar(double part, double most)
{
    TableCell cell;
    cell.bar = most > 0 ? part / most : 0;
    cell.sort = part;
    return cell;
}

} // namespace tilescope::ui
