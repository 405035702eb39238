#include "ui/kernels/kernel_rows.h"

#include "core/analysis/work/tensor_shape.h"
#include "ui/kit/natural_order.h"

#include "ui/kit/number_text.h"
#include "ui/kit/table_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

TableCell time(std::optional<double> value, const Unit& unit, Tone tone = Tone::Plain)
{
    TableCell cell = makeNumber(value, unit, exactTime);
    cell.tone = tone;
    return cell;
}

TableCell deviation(std::optional<double> value, const Unit& unit)
{
    TableCell cell = time(value, unit);
    if (value)
        cell.text.prepend(QStringLiteral("± "));
    return cell;
}

TableCell rate(std::optional<double> value, const Unit& unit)
{
    TableCell cell = makeNumber(value, unit);
    if (value)
        cell.exact = withUnit(cell.text, unit.word);
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

// What the cells of a table depend on besides their row.
struct Extent {
    double all = 0;
    double most = 0;
    bool families = false;
    LogAxis axis;

    explicit Extent(const std::vector<KernelLine>& lines)
    {
        for (const KernelLine& line : lines) {
            all += line.total;
            most = std::max({most, line.total, line.other.value_or(0)});
            families = families || !line.family.isEmpty();
            if (line.shortest)
                axis.add(*line.shortest);
            if (line.longest)
                axis.add(*line.longest);
        }
    }
};

} // namespace

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
            line.family = QString::fromUtf8(family);
        line.swatch = places ? Swatch::neutral() : Swatch::of(row.family);
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

std::vector<KernelLine> linesOf(const query::OpsTable& ops, const query::RooflineTable* work,
                                const OpSpread* spread)
{
    std::map<std::string_view, const query::RooflineRow*> known;
    if (work != nullptr)
        for (const query::RooflineRow& row : work->rows)
            known[row.key] = &row;
    const bool names = ops.grouping == query::Grouping::Name;
    std::vector<KernelLine> lines;
    for (const query::OpRow& row : ops.rows) {
        const auto stat = spread != nullptr ? spread->find(row.key) : OpSpread::const_iterator();
        if (spread != nullptr && stat == spread->end())
            continue;
        const query::Hue hue = query::hueOfOp(row.key);
        KernelLine line;
        line.name = line.label = QString::fromStdString(row.key);
        if (!names && line.label.startsWith(QLatin1String("step/")))
            line.label.remove(0, 5);
        if (names)
            line.family = QString::fromUtf8(hueWord(hue));
        line.swatch = names ? Swatch::of(hue) : Swatch::neutral();
        line.instances = row.instances;
        line.total = double(row.self.count());
        line.mean = row.instances > 0 ? line.total / double(row.instances) : 0;
        if (spread != nullptr) {
            line.instances = stat->second.instances;
            line.total = double(stat->second.total);
            line.mean = stat->second.mean;
            line.deviation = stat->second.standardDeviation;
            line.shortest = double(stat->second.shortest);
            line.longest = double(stat->second.longest);
        }
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

std::vector<KernelLine> linesOf(const query::RooflineTable& byShape)
{
    std::vector<KernelLine> lines;
    for (const query::RooflineRow& row : byShape.rows) {
        KernelLine line;
        line.name = QString::fromStdString(row.key);
        line.label = QString::fromStdString(row.op);
        if (!row.shapes.empty())
            line.label += QLatin1Char(' ') + QString::fromStdString(analysis::tensorsText(row.shapes));
        line.does = QString::fromStdString(row.why);
        line.family = QString::fromUtf8(wordOf(row.family));
        line.swatch = Swatch::of(row.family);
        line.instances = row.instances;
        line.total = double(row.time.count());
        line.mean = row.instances > 0 ? line.total / double(row.instances) : 0;
        if (row.work && row.work->flops.count > 0) {
            line.flopRate = analysis::flopsPerSecond(*row.work, row.counted);
            line.intensity = analysis::intensityOf(*row.work);
        }
        if (row.work && row.work->bytes.count > 0)
            line.byteRate = analysis::bytesPerSecond(*row.work, row.counted);
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
        if (line.shortest && line.longest) {
            family.shortest = std::min(family.shortest.value_or(*line.shortest), *line.shortest);
            family.longest = std::max(family.longest.value_or(*line.longest), *line.longest);
        }
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

void addOther(std::vector<KernelLine>& lines, const std::vector<KernelLine>& others)
{
    std::map<QString, const KernelLine*> unmatched;
    for (const KernelLine& other : others)
        unmatched[other.name] = &other;
    for (KernelLine& line : lines) {
        const auto found = unmatched.find(line.name);
        line.other = found == unmatched.end() ? 0 : found->second->total;
        if (found != unmatched.end())
            unmatched.erase(found);
    }
    for (const KernelLine& other : others) {
        if (!unmatched.contains(other.name))
            continue;
        KernelLine& line = lines.emplace_back();
        line.name = other.name;
        line.label = other.label;
        line.does = other.does;
        line.family = other.family;
        line.swatch = other.swatch;
        line.other = other.total;
    }
}

namespace {

// The total in another run, and by how much it differs.
void addOtherColumns(TableMaker<KernelLine>& table, const KernelTitles& titles, const Unit& unit)
{
    using Kind = TableColumn::Kind;
    table
        .add(makeColumn(titleIn(titles.other, unit), Kind::Number, 66),
             [unit](const KernelLine& line) { return time(line.other, unit); })
        .tip = QStringLiteral("the total in %1").arg(titles.other);
    table
        .add(
            makeColumn(titleIn(titles.other + QStringLiteral(" − ") + titles.letter, unit), Kind::Number, 76),
            [unit, isKnown = titles.whyNoDifference.isEmpty()](const KernelLine& line) {
                return line.other && isKnown ? makeDifference(*line.other - line.total, unit, Tone::Plain)
                                             : makeWords(notMeasured());
            })
        .tip = titles.whyNoDifference.isEmpty()
                   ? QStringLiteral("of the totals; the page Compare says which differences are significant")
                   : titles.whyNoDifference;
}

} // namespace

TableData kernelRows(const std::vector<KernelLine>& lines, const KernelTitles& titles)
{
    using Kind = TableColumn::Kind;
    using Line = KernelLine;
    const Extent extent(lines);
    const Units units(lines);
    TableMaker<Line> table;
    table
        .add(makeColumn(titles.first, Kind::Text, 0),
             [](const Line& line) {
                 return makeWords(
                     line.label, line.does.isEmpty() ? line.name : line.does + QLatin1Char('\n') + line.name);
             })
        .swatch = true;
    table.add(makeColumn(extent.families ? QStringLiteral("Family") : QString(), Kind::Text,
                         extent.families ? 84 : 8, true),
              [](const Line& line) { return makeWords(line.family); });
    table.add(makeColumn(QStringLiteral("n"), Kind::Number, 50),
              [](const Line& line) { return makeCount(double(line.instances)); });
    table.add(makeColumn(titleIn(QStringLiteral("Total"), units.total), Kind::Number, 76),
              [&](const Line& line) { return time(line.total, units.total, Tone::Strong); });
    table.add(makeColumn({}, Kind::Bar, 116), [&](const Line& line) {
        TableCell bar = makeBar(line.total, extent.most);
        if (line.other)
            bar.secondBar = extent.most > 0 ? *line.other / extent.most : 0;
        return bar;
    });
    table.add(makeColumn(QStringLiteral("Share, %"), Kind::Number, 62),
              [&](const Line& line) { return makeShare(line.total, extent.all); });
    if (!titles.other.isEmpty())
        addOtherColumns(table, titles, units.total);
    table.add(makeColumn(titleIn(QStringLiteral("Mean"), units.each), Kind::Number, 68),
              [&](const Line& line) { return time(line.mean, units.each); });
    table.add(makeColumn(titleIn(QStringLiteral("± s. d."), units.each), Kind::Number, 72, true),
              [&](const Line& line) { return deviation(line.deviation, units.each); });
    table.add(makeColumn(titleIn(QStringLiteral("Min"), units.each), Kind::Number, 62),
              [&](const Line& line) { return time(line.shortest, units.each); });
    table.add(makeColumn(titleIn(QStringLiteral("Max"), units.each), Kind::Number, 62),
              [&](const Line& line) { return time(line.longest, units.each); });
    table
        .add(makeColumn(QStringLiteral("Min to max, log"), Kind::Strip, 112),
             [&](const Line& line) {
                 TableCell range;
                 if (line.shortest && line.longest)
                     range.strip = {extent.axis.at(*line.shortest), extent.axis.at(line.mean),
                                    extent.axis.at(*line.longest)};
                 return range;
             })
        .sortable = false;
    table
        .add(makeColumn(QString::fromUtf8(units.flops.word), Kind::Number, 64),
             [&](const Line& line) { return rate(line.flopRate, units.flops); })
        .tip = titles.noWork.isEmpty()
                   ? QStringLiteral("counted from the shapes of the ops, over measured time")
                   : titles.noWork;
    table
        .add(makeColumn(QString::fromUtf8(units.bytes.word), Kind::Number, 50),
             [&](const Line& line) { return rate(line.byteRate, units.bytes); })
        .tip = titles.noWork.isEmpty() ? QStringLiteral("operands once and results once, over measured time")
                                       : titles.noWork;
    if (!titles.onHost)
        table
            .add(makeColumn(QStringLiteral("Tensor, %"), Kind::Number, 66),
                 [](const Line& line) { return tensorCell(line.tensor); })
            .tip =
            titles.noTensor.isEmpty()
                ? QStringLiteral("share of the time in which tensor cores worked, from a hardware "
                                 "counter; read per range, so known only for kernels that ran alone in "
                                 "their ranges")
                : titles.noTensor;
    return table.table(lines, &Line::swatch);
}

TableData familyRows(const std::vector<FamilyTime>& families)
{
    using Kind = TableColumn::Kind;
    double most = 0;
    std::vector<double> times;
    for (const FamilyTime& family : families) {
        most = std::max(most, family.time);
        times.push_back(family.time);
    }
    const Unit unit = columnUnit(times, timeUnit);
    TableMaker<FamilyTime> table;
    table
        .add(makeColumn(QStringLiteral("Family"), Kind::Text, 0),
             [](const FamilyTime& family) { return makeWords(QString::fromUtf8(hueWord(family.hue))); })
        .swatch = true;
    table.add(makeColumn(titleIn({}, unit), Kind::Number, 66),
              [&](const FamilyTime& family) { return time(family.time, unit); });
    table
        .add(makeColumn({}, Kind::Bar, 76),
             [&](const FamilyTime& family) { return makeBar(family.time, most); })
        .sortable = false;
    TableData data = table.table(families, [](const FamilyTime& family) { return Swatch::of(family.hue); });
    for (std::size_t i = 0; i < families.size(); ++i)
        data.rows[i].id = std::int64_t(std::size_t(families[i].hue));
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
