#include "ui/kernels/kernel_rows.h"
#include "ui/kit/natural_order.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {

using query::KernelStat;

namespace {

QString word(std::string_view text)
{
    return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

TableCell number(std::optional<double> value, const Unit& unit)
{
    TableCell cell = makeWords(notMeasured());
    if (!value)
        return cell;
    cell.text = columnDigits(*value, unit);
    cell.sort = *value;
    cell.exact = exactTime(std::int64_t(std::llround(*value)));
    return cell;
}

TableCell rate(std::optional<double> value, const Unit& unit)
{
    TableCell cell = makeWords(notMeasured());
    if (!value)
        return cell;
    cell.text = columnDigits(*value, unit);
    cell.sort = *value;
    cell.exact = withUnit(columnDigits(*value, unit), unit.word);
    return cell;
}

TableCell count(std::int64_t value)
{
    TableCell cell = makeWords(wholeNumber(value));
    cell.sort = double(value);
    return cell;
}

TableCell share(double part, double whole)
{
    TableCell cell = makeWords(QString::number(whole > 0 ? 100 * part / whole : 0, 'f', 1));
    cell.sort = part;
    return cell;
}

TableCell tensorCell(std::optional<double> percent)
{
    TableCell cell = makeWords(notMeasured());
    if (!percent)
        return cell;
    cell.text =
        *percent == 0 ? QStringLiteral("no") : QString::number(*percent, 'f', *percent < 9.95 ? 1 : 0);
    cell.sort = *percent;
    cell.exact = QStringLiteral("tensor cores worked %1 % of the time").arg(*percent, 0, 'f', 1);
    return cell;
}

// Titles carry the column's unit.
QString titled(const char* title, const Unit& unit)
{
    return QStringLiteral("%1, %2").arg(QString::fromUtf8(title), QString::fromUtf8(unit.word));
}

// One logarithmic axis for all rows: from the least instance to the greatest.
struct LogAxis {
    double low = 1e300;
    double high = 0;

    void add(double value)
    {
        low = std::min(low, std::log(std::max(1.0, value)));
        high = std::max(high, std::log(std::max(1.0, value)));
    }
    double at(double value) const
    {
        return high > low ? (std::log(std::max(1.0, value)) - low) / (high - low) : 0.5;
    }
};

Unit flopUnit(double rate)
{
    return rate < 1e12 ? Unit{"GFLOP/s", 1e9} : Unit{"TFLOP/s", 1e12};
}

Unit byteRateUnit(double rate)
{
    return rate < 1e12 ? Unit{"GB/s", 1e9} : Unit{"TB/s", 1e12};
}

// The units that the columns of a table share.
struct Units {
    Unit total, each, flops, bytes;

    explicit Units(const std::vector<KernelLine>& lines)
        : total(timeUnit(0)), each(total), flops(flopUnit(0)), bytes(byteRateUnit(0))
    {
        double greatest = 0;
        std::vector<double> means;
        double flopRate = 0;
        double byteRate = 0;
        for (const KernelLine& line : lines) {
            greatest = std::max(greatest, line.total);
            means.push_back(line.mean);
            flopRate = std::max(flopRate, line.flopRate.value_or(0));
            byteRate = std::max(byteRate, line.byteRate.value_or(0));
        }
        total = timeUnit(greatest);
        each = columnUnit(means, timeUnit);
        flops = flopUnit(flopRate);
        bytes = byteRateUnit(byteRate);
    }
};

std::vector<TableColumn> columnsOf(const KernelTitles& titles, const Units& units, bool families)
{
    using Kind = TableColumn::Kind;
    std::vector<TableColumn> columns(static_cast<std::size_t>(KernelColumn::Count));
    const auto set = [&columns](KernelColumn at, TableColumn column) {
        columns[std::size_t(at)] = std::move(column);
    };
    TableColumn name = makeColumn(titles.first, Kind::Text, 0);
    name.swatch = true;
    set(KernelColumn::Name, name);
    set(KernelColumn::Family,
        makeColumn(families ? QStringLiteral("Family") : QString(), Kind::Text, families ? 84 : 8, true));
    set(KernelColumn::Instances, makeColumn(QStringLiteral("n"), Kind::Number, 50));
    set(KernelColumn::Total, makeColumn(titled("Total", units.total), Kind::Number, 76));
    set(KernelColumn::Bar, makeColumn({}, Kind::Bar, 116));
    set(KernelColumn::Share, makeColumn(QStringLiteral("Share, %"), Kind::Number, 62));
    set(KernelColumn::Mean, makeColumn(titled("Mean", units.each), Kind::Number, 68));
    set(KernelColumn::Deviation, makeColumn(titled("± s. d.", units.each), Kind::Number, 72, true));
    set(KernelColumn::Least, makeColumn(titled("Min", units.each), Kind::Number, 62));
    set(KernelColumn::Greatest, makeColumn(titled("Max", units.each), Kind::Number, 62));
    TableColumn range = makeColumn(QStringLiteral("Min to max, log"), Kind::Strip, 112);
    range.sortable = false;
    set(KernelColumn::Range, range);
    TableColumn flops = makeColumn(QString::fromUtf8(units.flops.word), Kind::Number, 64);
    flops.tip = titles.noWork.isEmpty()
                    ? QStringLiteral("counted from the shapes of the ops, over measured time")
                    : titles.noWork;
    set(KernelColumn::FlopRate, flops);
    TableColumn bytes = makeColumn(QString::fromUtf8(units.bytes.word), Kind::Number, 50);
    bytes.tip = titles.noWork.isEmpty() ? QStringLiteral("operands once and results once, over measured time")
                                        : titles.noWork;
    set(KernelColumn::ByteRate, bytes);
    TableColumn tensor = makeColumn(QStringLiteral("Tensor, %"), Kind::Number, 66);
    tensor.tip =
        titles.noTensor.isEmpty()
            ? QStringLiteral("share of the time in which tensor cores worked, from a hardware counter; read "
                             "per range, so known only for kernels that ran alone in their ranges")
            : titles.noTensor;
    set(KernelColumn::Tensor, tensor);
    return columns;
}

TableRow rowOf(const KernelLine& line, const Units& units, const LogAxis& axis, double most, double all)
{
    TableRow row;
    row.swatch = line.swatch;
    row.cells.resize(static_cast<std::size_t>(KernelColumn::Count));
    const auto set = [&row](KernelColumn at, TableCell cell) {
        row.cells[std::size_t(at)] = std::move(cell);
    };
    set(KernelColumn::Name,
        makeWords(line.label, line.does.isEmpty() ? line.name : line.does + QLatin1Char('\n') + line.name));
    set(KernelColumn::Family, makeWords(line.family));
    set(KernelColumn::Instances, count(line.instances));
    TableCell cost = number(line.total, units.total);
    cost.tone = Tone::Strong;
    set(KernelColumn::Total, cost);
    set(KernelColumn::Bar, makeBar(line.total, most));
    set(KernelColumn::Share, share(line.total, all));
    set(KernelColumn::Mean, number(line.mean, units.each));
    TableCell deviation = number(line.deviation, units.each);
    if (line.deviation)
        deviation.text.prepend(QStringLiteral("± "));
    set(KernelColumn::Deviation, deviation);
    set(KernelColumn::Least, number(line.shortest, units.each));
    set(KernelColumn::Greatest, number(line.longest, units.each));
    TableCell range;
    if (line.shortest && line.longest)
        range.strip = {axis.at(*line.shortest), axis.at(line.mean), axis.at(*line.longest)};
    set(KernelColumn::Range, range);
    set(KernelColumn::FlopRate, rate(line.flopRate, units.flops));
    set(KernelColumn::ByteRate, rate(line.byteRate, units.bytes));
    set(KernelColumn::Tensor, tensorCell(line.tensor));
    return row;
}

} // namespace

std::vector<KernelLine> linesOf(const query::Timeline& timeline, const std::vector<KernelStat>& stats,
                                bool families)
{
    std::vector<KernelLine> lines;
    for (const KernelStat& stat : stats) {
        const query::TimelineName& name = timeline.names[stat.name];
        const QString family = word(hueWord(stat.hue));
        KernelLine line;
        line.name = families ? family : QString::fromStdString(name.text);
        line.label = families ? family : QString::fromStdString(name.label);
        line.family = families ? QString() : family;
        line.swatch = Swatch::of(stat.hue);
        line.instances = stat.instances;
        line.total = double(stat.total);
        line.mean = stat.mean;
        line.deviation = stat.standardDeviation;
        line.shortest = double(stat.shortest);
        line.longest = double(stat.longest);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<KernelLine> linesOf(const query::KernelsTable& table)
{
    const bool names = table.grouping == query::Grouping::Name;
    const bool places = !names && table.grouping != query::Grouping::Family;
    std::vector<KernelLine> lines;
    for (const query::KernelRow& row : table.rows) {
        const std::string_view family = analysis::wordOf(row.family);
        KernelLine line;
        line.name = QString::fromStdString(row.key);
        line.label = row.shortName.empty() ? line.name : QString::fromStdString(row.shortName);
        if (places && line.label.startsWith(QLatin1String("step/")))
            line.label.remove(0, 5);
        line.does = QString::fromStdString(row.does);
        if (names)
            line.family = word(family);
        line.swatch = places ? Swatch::neutral() : Swatch::of(query::hueOf(row.family));
        line.instances = row.instances;
        line.total = double(row.total.count());
        line.mean = row.mean();
        line.deviation = row.standardDeviation;
        line.shortest = double(row.shortest.count());
        line.longest = double(row.longest.count());
        line.flopRate = row.flopsPerSecond();
        line.byteRate = row.bytesPerSecond();
        if (row.work && row.work->flops.count > 0)
            line.intensity = analysis::intensityOf(*row.work);
        line.tensor = row.tensorActive;
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<KernelLine> linesOf(const query::OpsTable& ops, const query::RooflineTable* work)
{
    std::map<std::string_view, const query::RooflineRow*> known;
    if (work != nullptr)
        for (const query::RooflineRow& row : work->rows)
            known[row.key] = &row;
    const bool names = ops.grouping == query::Grouping::Name;
    std::vector<KernelLine> lines;
    for (const query::OpRow& row : ops.rows) {
        const query::Hue hue = query::hueOfOp(row.key);
        KernelLine line;
        line.name = line.label = QString::fromStdString(row.key);
        if (!names && line.label.startsWith(QLatin1String("step/")))
            line.label.remove(0, 5);
        if (names)
            line.family = word(hueWord(hue));
        line.swatch = names ? Swatch::of(hue) : Swatch::neutral();
        line.instances = row.instances;
        line.total = double(row.self.count());
        line.mean = row.instances > 0 ? line.total / double(row.instances) : 0;
        const auto found = known.find(row.key);
        if (found != known.end() && found->second->work) {
            const analysis::Work& done = *found->second->work;
            if (done.flops.count > 0) {
                line.flopRate = analysis::flopsPerSecond(done, found->second->counted);
                line.intensity = analysis::intensityOf(done);
            }
            if (done.bytes.count > 0)
                line.byteRate = analysis::bytesPerSecond(done, found->second->counted);
        }
        lines.push_back(std::move(line));
    }
    return lines;
}

std::vector<KernelLine> byFamily(const std::vector<KernelLine>& lines)
{
    std::map<QString, KernelLine> families;
    for (const KernelLine& line : lines) {
        KernelLine& family = families[line.family];
        family.name = family.label = line.family;
        family.swatch = line.swatch;
        family.instances += line.instances;
        family.total += line.total;
    }
    std::vector<KernelLine> list;
    for (auto& [name, family] : families) {
        family.mean = family.instances > 0 ? family.total / double(family.instances) : 0;
        list.push_back(std::move(family));
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const KernelLine& a, const KernelLine& b) { return a.total > b.total; });
    return list;
}

TableData kernelRows(const std::vector<KernelLine>& lines, const KernelTitles& titles)
{
    double all = 0;
    double most = 0;
    bool families = false;
    LogAxis axis;
    for (const KernelLine& line : lines) {
        all += line.total;
        most = std::max(most, line.total);
        families = families || !line.family.isEmpty();
        if (line.shortest)
            axis.add(*line.shortest);
        if (line.longest)
            axis.add(*line.longest);
    }
    const Units units(lines);
    TableData data;
    data.columns = columnsOf(titles, units, families);
    for (const KernelLine& line : lines) {
        data.rows.push_back(rowOf(line, units, axis, most, all));
        data.rows.back().id = std::int64_t(data.rows.size()) - 1;
    }
    return data;
}

TableData familyRows(const std::vector<FamilyTime>& families)
{
    using Kind = TableColumn::Kind;
    TableData data;
    double most = 0;
    std::vector<double> times;
    for (const FamilyTime& family : families) {
        most = std::max(most, family.time);
        times.push_back(family.time);
    }
    const Unit unit = columnUnit(times, timeUnit);
    data.columns = {makeColumn(QStringLiteral("Family"), Kind::Text, 0),
                    makeColumn(QString::fromUtf8(unit.word), Kind::Number, 66),
                    makeColumn({}, Kind::Bar, 76)};
    data.columns[0].swatch = true;
    data.columns[2].sortable = false;
    for (const FamilyTime& family : families) {
        TableRow row;
        row.id = std::int64_t(family.hue);
        row.swatch = Swatch::of(family.hue);
        row.cells = {makeWords(word(hueWord(family.hue))), number(family.time, unit),
                     makeBar(family.time, most)};
        data.rows.push_back(std::move(row));
    }
    return data;
}

QStringList rangeChoices(const std::vector<std::string>& paths, int most)
{
    std::set<QString> all;
    for (const std::string& path : paths) {
        const QStringList parts = QString::fromStdString(path).split(QLatin1Char('/'));
        for (qsizetype depth = 2; depth <= parts.size(); ++depth)
            all.insert(parts.mid(0, depth).join(QLatin1Char('/')));
    }
    QStringList choices(all.begin(), all.end());
    // layers.10 comes after layers.9; if there are too many, the outer ones are kept.
    const auto depthOf = [](const QString& path) { return path.count(QLatin1Char('/')); };
    std::stable_sort(choices.begin(), choices.end(),
                     [&](const QString& a, const QString& b) { return depthOf(a) < depthOf(b); });
    choices = choices.mid(0, most);
    const QCollator order = naturalOrder();
    std::sort(choices.begin(), choices.end(),
              [&order](const QString& a, const QString& b) { return order.compare(a, b) < 0; });
    return choices;
}

} // namespace tilescope::ui
