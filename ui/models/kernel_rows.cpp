#include "ui/models/kernel_rows.h"

#include "ui/models/table_cells.h"
#include "ui/plots/number_text.h"

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using query::KernelStat;

namespace {

QString word(std::string_view text)
{
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

TableCell number(double value, const Unit& unit)
{
    TableCell cell;
    cell.text = threeDigits(value / unit.size);
    cell.sort = value;
    cell.exact = exactTime(std::int64_t(std::llround(value)));
    return cell;
}

TableCell count(std::int64_t value)
{
    TableCell cell;
    cell.text = wholeNumber(value);
    cell.sort = double(value);
    return cell;
}

TableCell share(double part, double whole)
{
    TableCell cell;
    cell.text = QString::number(whole > 0 ? 100 * part / whole : 0, 'f', 1);
    cell.sort = part;
    return cell;
}

// Titles carry the column's unit.
QString titled(const char* title, const Unit& unit)
{
    return QStringLiteral("%1, %2").arg(QString::fromUtf8(title), QString::fromUtf8(unit.word));
}

// One logarithmic axis for all rows: from the least instance to the greatest.
struct LogAxis {
    double low = 0;
    double high = 1;

    double at(double value) const
    {
        return high > low ? (std::log(std::max(1.0, value)) - low) / (high - low) : 0.5;
    }
};

std::vector<TableColumn> columnsFor(const QString& first, const Unit& total, const Unit& each, bool families)
{
    using Kind = TableColumn::Kind;
    std::vector<TableColumn> columns(static_cast<std::size_t>(KernelColumn::Count));
    const auto set = [&columns](KernelColumn at, TableColumn column) {
        columns[std::size_t(at)] = std::move(column);
    };
    TableColumn name = makeColumn(first, Kind::Text, 0);
    name.swatch = true;
    set(KernelColumn::Name, name);
    TableColumn family =
        makeColumn(families ? QString() : QStringLiteral("Family"), Kind::Text, families ? 8 : 96);
    family.dim = true;
    set(KernelColumn::Family, family);
    set(KernelColumn::Instances, makeColumn(QStringLiteral("n"), Kind::Number, 64));
    set(KernelColumn::Total, makeColumn(titled("Total", total), Kind::Number, 84));
    set(KernelColumn::Bar, makeColumn({}, Kind::Bar, 132));
    set(KernelColumn::Share, makeColumn(QStringLiteral("Share, %"), Kind::Number, 68));
    set(KernelColumn::Mean, makeColumn(titled("Mean", each), Kind::Number, 76));
    TableColumn deviation = makeColumn(titled("± s. d.", each), Kind::Number, 76);
    deviation.dim = true;
    set(KernelColumn::Deviation, deviation);
    set(KernelColumn::Least, makeColumn(titled("Min", each), Kind::Number, 68));
    set(KernelColumn::Greatest, makeColumn(titled("Max", each), Kind::Number, 68));
    TableColumn range = makeColumn(QStringLiteral("Min to max, log"), Kind::Strip, 130);
    range.sortable = false;
    set(KernelColumn::Range, range);
    return columns;
}

Unit unitOfMeans(const std::vector<KernelStat>& stats)
{
    std::vector<double> means;
    for (const KernelStat& stat : stats)
        means.push_back(stat.mean);
    return columnUnit(std::move(means), timeUnit);
}

Unit unitOfTotals(const std::vector<KernelStat>& stats)
{
    std::vector<double> totals;
    for (const KernelStat& stat : stats)
        totals.push_back(double(stat.total));
    return columnUnit(std::move(totals), timeUnit);
}

} // namespace

TableData kernelRows(const query::Timeline& timeline, const std::vector<KernelStat>& stats, bool families)
{
    double all = 0;
    double most = 0;
    LogAxis axis{1e300, 0};
    for (const KernelStat& stat : stats) {
        all += double(stat.total);
        most = std::max(most, double(stat.total));
        axis.low = std::min(axis.low, std::log(std::max(1.0, double(stat.shortest))));
        axis.high = std::max(axis.high, std::log(std::max(1.0, double(stat.longest))));
    }
    const Unit total = unitOfTotals(stats);
    const Unit each = unitOfMeans(stats);
    TableData data;
    data.columns =
        columnsFor(families ? QStringLiteral("Family") : QStringLiteral("Kernel"), total, each, families);
    for (std::size_t i = 0; i < stats.size(); ++i) {
        const KernelStat& stat = stats[i];
        const query::TimelineName& name = timeline.names[stat.name];
        const QString family = word(hueWord(stat.hue));
        TableRow row;
        row.id = std::int64_t(i);
        row.swatch = Swatch::of(stat.hue);
        row.cells.resize(data.columns.size());
        const auto set = [&row](KernelColumn at, TableCell cell) {
            row.cells[std::size_t(at)] = std::move(cell);
        };
        set(KernelColumn::Name,
            families ? makeWords(family)
                     : makeWords(QString::fromStdString(name.label), QString::fromStdString(name.text)));
        set(KernelColumn::Family, makeWords(families ? QString() : family));
        set(KernelColumn::Instances, count(stat.instances));
        TableCell cost = number(double(stat.total), total);
        cost.tone = Tone::Strong;
        set(KernelColumn::Total, cost);
        set(KernelColumn::Bar, makeBar(double(stat.total), most));
        set(KernelColumn::Share, share(double(stat.total), all));
        set(KernelColumn::Mean, number(stat.mean, each));
        TableCell deviation = makeWords(notMeasured());
        if (stat.standardDeviation) {
            deviation = number(*stat.standardDeviation, each);
            deviation.text.prepend(QStringLiteral("± "));
        }
        set(KernelColumn::Deviation, deviation);
        set(KernelColumn::Least, number(double(stat.shortest), each));
        set(KernelColumn::Greatest, number(double(stat.longest), each));
        TableCell range;
        range.strip = {axis.at(double(stat.shortest)), axis.at(stat.mean), axis.at(double(stat.longest))};
        set(KernelColumn::Range, range);
        data.rows.push_back(std::move(row));
    }
    return data;
}

TableData groupRows(const query::KernelsTable& table, const QString& title)
{
    double all = 0;
    double most = 0;
    LogAxis axis{1e300, 0};
    std::vector<KernelStat> stats; // only for the units that the columns share
    for (const query::KernelRow& row : table.rows) {
        all += double(row.total.count());
        most = std::max(most, double(row.total.count()));
        axis.low = std::min(axis.low, std::log(std::max(1.0, double(row.shortest.count()))));
        axis.high = std::max(axis.high, std::log(std::max(1.0, double(row.longest.count()))));
        stats.emplace_back().mean = double(row.average.count());
        stats.back().total = row.total.count();
    }
    const Unit total = unitOfTotals(stats);
    const Unit each = unitOfMeans(stats);
    TableData data;
    data.columns = columnsFor(title, total, each, true);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const query::KernelRow& from = table.rows[i];
        TableRow row;
        row.id = std::int64_t(i);
        row.swatch = Swatch::neutral();
        row.cells.resize(data.columns.size());
        const auto set = [&row](KernelColumn at, TableCell cell) {
            row.cells[std::size_t(at)] = std::move(cell);
        };
        set(KernelColumn::Name, makeWords(QString::fromStdString(from.key)));
        set(KernelColumn::Instances, count(from.instances));
        TableCell cost = number(double(from.total.count()), total);
        cost.tone = Tone::Strong;
        set(KernelColumn::Total, cost);
        set(KernelColumn::Bar, makeBar(double(from.total.count()), most));
        set(KernelColumn::Share, share(double(from.total.count()), all));
        set(KernelColumn::Mean, number(double(from.average.count()), each));
        set(KernelColumn::Deviation, makeWords(notMeasured()));
        set(KernelColumn::Least, number(double(from.shortest.count()), each));
        set(KernelColumn::Greatest, number(double(from.longest.count()), each));
        TableCell range;
        range.strip = {axis.at(double(from.shortest.count())), axis.at(double(from.average.count())),
                       axis.at(double(from.longest.count()))};
        set(KernelColumn::Range, range);
        data.rows.push_back(std::move(row));
    }
    return data;
}

TableData familyRows(const std::vector<KernelStat>& families)
{
    TableData data;
    double most = 0;
    for (const KernelStat& stat : families)
        most = std::max(most, double(stat.total));
    const Unit unit = unitOfTotals(families);
    TableColumn name;
    name.title = QStringLiteral("Family");
    name.swatch = true;
    TableColumn total;
    total.title = QString::fromUtf8(unit.word);
    total.kind = TableColumn::Kind::Number;
    total.width = 72;
    TableColumn bars;
    bars.kind = TableColumn::Kind::Bar;
    bars.width = 80;
    data.columns = {name, total, bars};
    for (const KernelStat& stat : families) {
        TableRow row;
        row.id = std::int64_t(stat.hue);
        row.swatch = Swatch::of(stat.hue);
        row.cells = {makeWords(word(hueWord(stat.hue))), number(double(stat.total), unit),
                     makeBar(double(stat.total), most)};
        data.rows.push_back(std::move(row));
    }
    return data;
}

} // namespace tilescope::ui
