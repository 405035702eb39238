#include "ui/kernels/kernel_rows.h"

#include "core/analysis/work/tensor_shape.h"
#include "core/exchange/kernels/kernel_columns.h"
#include "core/exchange/work/work_columns.h"
#include "ui/kit/natural_order.h"
#include "ui/kit/number_text.h"
#include "ui/kit/path_text.h"
#include "ui/kit/table_cells.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace tilescope::ui {

namespace {

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

// What the cells of a table depend on besides their row.
struct Extent {
    double most = 0;
    LogAxis axis;

    explicit Extent(const std::vector<KernelLine>& lines)
    {
        for (const KernelLine& line : lines) {
            most = std::max(
                {most, double(line.total.count()), double(line.other.value_or(Nanoseconds{0}).count())});
            if (line.instances > 0 && line.hasRange) {
                axis.add(double(line.shortest.count()));
                axis.add(double(line.longest.count()));
            }
        }
    }
};

// The share of each line in the total of all.
void addShares(std::vector<KernelLine>& lines)
{
    Nanoseconds all{0};
    for (const KernelLine& line : lines)
        all += line.total;
    for (KernelLine& line : lines)
        line.percent = all.count() > 0 ? 100 * double(line.total.count()) / double(all.count()) : 0;
}

} // namespace

void KernelLine::takeWork(const query::RooflineRow& row)
{
    work = row.work;
    counted = row.counted;
    measured = row.measured;
    sheet = row.sheet;
}

std::vector<KernelLine> linesOf(const query::KernelsTable& table)
{
    const bool names = table.grouping == query::Grouping::Name;
    const bool places = !names && table.grouping != query::Grouping::Family;
    std::vector<KernelLine> lines;
    for (const query::KernelRow& row : table.rows) {
        KernelLine& line = lines.emplace_back(KernelLine{row});
        line.name = QString::fromStdString(row.key);
        line.label = row.shortName.empty() ? line.name : QString::fromStdString(row.shortName);
        if (places)
            line.label = belowStep(line.label);
        line.hasFamily = names;
        line.swatch = places ? Swatch::neutral() : Swatch::of(row.family);
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
    for (const query::KernelRow& row : ops.rows) {
        const auto stat = spread != nullptr ? spread->find(row.key) : OpSpread::const_iterator();
        if (spread != nullptr && stat == spread->end())
            continue;
        KernelLine& line = lines.emplace_back(KernelLine{row});
        line.name = line.label = QString::fromStdString(row.key);
        if (!names)
            line.label = belowStep(line.label);
        line.hasFamily = names;
        line.swatch = names ? Swatch::of(line.family) : Swatch::neutral();
        line.hasRange = spread != nullptr;
        if (spread != nullptr) {
            if (stat->second.instances != row.instances) // of fewer steps
                line.withCalls.reset();
            line.instances = stat->second.instances;
            line.total = Nanoseconds(stat->second.total);
            line.standardDeviation = stat->second.standardDeviation;
            line.shortest = Nanoseconds(stat->second.shortest);
            line.longest = Nanoseconds(stat->second.longest);
        }
        if (const auto found = known.find(row.key); found != known.end())
            line.takeWork(*found->second);
    }
    addShares(lines);
    return lines;
}

std::vector<KernelLine> linesOf(const query::RooflineTable& byShape)
{
    std::vector<KernelLine> lines;
    for (const query::RooflineRow& row : byShape.rows) {
        KernelLine& line = lines.emplace_back();
        line.name = QString::fromStdString(row.key);
        line.label = QString::fromStdString(row.op);
        if (!row.shapes.empty())
            line.label += QLatin1Char(' ') + QString::fromStdString(analysis::tensorsText(row.shapes));
        line.does = row.why;
        line.hasFamily = true;
        line.family = row.family;
        line.swatch = Swatch::of(row.family);
        line.instances = row.instances;
        line.total = row.time;
        line.hasRange = false;
        line.takeWork(row);
    }
    addShares(lines);
    return lines;
}

std::vector<KernelLine> byFamily(const std::vector<KernelLine>& lines)
{
    std::map<analysis::KernelFamily, KernelLine> families;
    for (const KernelLine& line : lines) {
        const auto [entry, isNew] = families.try_emplace(line.family);
        KernelLine& family = entry->second;
        family.name = family.label = QString::fromUtf8(wordOf(line.family));
        family.family = line.family;
        family.swatch = line.swatch;
        family.instances += line.instances;
        family.total += line.total;
        family.percent += line.percent;
        family.hasRange = family.hasRange && line.hasRange;
        family.shortest = isNew ? line.shortest : std::min(family.shortest, line.shortest);
        family.longest = std::max(family.longest, line.longest);
    }
    std::vector<KernelLine> list;
    for (auto& [family, line] : families)
        list.push_back(std::move(line));
    std::ranges::stable_sort(list, std::greater{}, &KernelLine::total);
    return list;
}

void addOther(std::vector<KernelLine>& lines, const std::vector<KernelLine>& others)
{
    std::map<QString, const KernelLine*> unmatched;
    for (const KernelLine& other : others)
        unmatched[other.name] = &other;
    for (KernelLine& line : lines) {
        const auto found = unmatched.find(line.name);
        if (found == unmatched.end())
            continue;
        line.other = found->second->total;
        unmatched.erase(found);
    }
    for (const KernelLine& other : others) {
        if (!unmatched.contains(other.name))
            continue;
        KernelLine& line = lines.emplace_back();
        line.name = other.name;
        line.label = other.label;
        line.does = other.does;
        line.hasFamily = other.hasFamily;
        line.family = other.family;
        line.swatch = other.swatch;
        line.hasRange = false;
        line.other = other.total;
    }
}

namespace {

// The place under the roofline, if the ceilings are known.
void addPlaces(TableMaker<KernelLine>& table, const std::vector<KernelLine>& lines)
{
    const exchange::WorkColumns<KernelLine> work;
    const auto any = [&lines](auto member) {
        return std::ranges::any_of(lines, [member](const KernelLine& line) { return bool(line.*member); });
    };
    const bool isMeasured = any(&KernelLine::measured);
    if (!isMeasured && !any(&KernelLine::sheet))
        return;
    table.add(work.bound, 66).dim = true;
    TableColumn& share = table.add(isMeasured ? work.ofMeasured : work.ofSheet, isMeasured ? 98 : 106);
    share.dim = true;
    share.tip =
        QStringLiteral("share of the highest rate at this intensity; above 100 % if data came from a cache");
}

// All times of the table share a unit, so that those of a row can be compared.
template <class Column> Column inOneUnit(Column column)
{
    column.about.unitGroup = 1;
    return column;
}

// Three digits of a time that is short in the unit of its table; a dash for a run that does not have the row.
void showTime(TableCell& cell, const Unit& unit, bool isThere)
{
    if (!isThere)
        cell.text = cell.exact = notMeasured();
    else if (const double shown = cell.sort / unit.divisor; std::abs(shown) < 0.1)
        cell.text = threeDigits(shown);
}

void showOwnTime(TableCell& cell, const KernelLine& line, const Unit& unit)
{
    showTime(cell, unit, line.instances > 0);
}

// The total in another run, and by how much it differs.
void addOtherColumns(TableMaker<KernelLine>& table, const KernelTitles& titles)
{
    table
        .add(exchange::ColumnOf<KernelLine>("", titles.other.toStdString(), &KernelLine::other,
                                            {.unitGroup = 1}),
             66,
             [](TableCell& cell, const KernelLine& line, const Unit& unit) {
                 showTime(cell, unit, line.other.has_value());
             })
        .tip = QStringLiteral("the total in %1").arg(titles.other);
    table
        .add(exchange::ColumnOf<KernelLine>(
                 "", (titles.other + QStringLiteral(" − ") + titles.letter).toStdString(),
                 [isKnown = titles.whyNoDifference.isEmpty()](const KernelLine& line) {
                     return isKnown ? std::optional(line.other.value_or(Nanoseconds{0}) - line.total)
                                    : std::nullopt;
                 },
                 {.meaning = exchange::Meaning::Difference, .unitGroup = 1}),
             76)
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
    const exchange::KernelColumns of;
    const exchange::OpColumns ofOps;
    const exchange::WorkColumns<Line> work;
    TableMaker<Line> table(lines);
    table
        .add(makeColumn(titles.first, Kind::Text, 0),
             [](const Line& line) {
                 return makeWords(line.label, line.does.empty() ? line.name
                                                                : QString::fromStdString(line.does) +
                                                                      QLatin1Char('\n') + line.name);
             })
        .swatch = true;
    if (std::ranges::any_of(lines, &Line::hasFamily))
        table.add(of.family, 84).dim = true;
    else
        table.add(makeColumn({}, Kind::Text, 8), [](const Line&) { return TableCell(); });
    table.add(of.instances, 56, [](TableCell& cell, const Line& line) {
        if (line.instances == 0)
            cell.text = cell.exact = notMeasured();
    });
    table.add(inOneUnit(titles.onHost ? ofOps.self : of.total), 76,
              [](TableCell& cell, const Line& line, const Unit& unit) {
                  showOwnTime(cell, line, unit);
                  cell.tone = Tone::Strong;
              });
    table.add(makeColumn({}, Kind::Bar, 116), [&](const Line& line) {
        TableCell bar = makeBar(double(line.total.count()), extent.most);
        if (line.other)
            bar.secondBar = extent.most > 0 ? double(line.other->count()) / extent.most : 0;
        return bar;
    });
    table.add(titles.onHost ? ofOps.percent : of.percent, 68, [](TableCell& cell, const Line& line) {
        if (line.instances == 0)
            cell.text = cell.exact = notMeasured();
    });
    if (!titles.other.isEmpty())
        addOtherColumns(table, titles);
    table.add(of.mean, 68, showOwnTime);
    table
        .add(of.deviation, 90,
             [](TableCell& cell, const Line& line, const Unit& unit) {
                 showTime(cell, unit, line.instances > 0 && line.standardDeviation);
             })
        .dim = true;
    const auto showRange = [](TableCell& cell, const Line& line, const Unit& unit) {
        showTime(cell, unit, line.instances > 0 && line.hasRange);
    };
    table.add(of.shortest, 66, showRange);
    table.add(of.longest, 62, showRange);
    table
        .add(makeColumn(QStringLiteral("Min to max, log"), Kind::Strip, 112),
             [&](const Line& line) {
                 TableCell range;
                 if (line.instances > 0 && line.hasRange)
                     range.strip = {extent.axis.at(double(line.shortest.count())),
                                    extent.axis.at(line.mean()),
                                    extent.axis.at(double(line.longest.count()))};
                 return range;
             })
        .sortable = false;
    table.add(work.flopRate, 72).tip =
        titles.noWork.isEmpty() ? QStringLiteral("counted from the shapes of the ops, over measured time")
                                : titles.noWork;
    table.add(work.byteRate, 50).tip =
        titles.noWork.isEmpty() ? QStringLiteral("operands once and results once, over measured time")
                                : titles.noWork;
    table.add(work.intensity, 58).dim = true;
    addPlaces(table, lines);
    if (titles.onHost)
        table
            .add(ofOps.total, 76,
                 [](TableCell& cell, const Line& line, const Unit& unit) {
                     showTime(cell, unit, line.withCalls.has_value());
                 })
            .tip = QStringLiteral("with the ops that they call");
    else
        table.add(of.tensor, 66).tip =
            titles.noTensor.isEmpty()
                ? QStringLiteral("share of the time in which tensor cores worked, from a hardware "
                                 "counter; read per range, so known only for kernels that ran alone in "
                                 "their ranges")
                : titles.noTensor;
    return table.table(lines, &Line::swatch);
}

TableData familyRows(const std::vector<query::KernelRow>& families, bool onHost)
{
    using Kind = TableColumn::Kind;
    double most = 0;
    for (const query::KernelRow& family : families)
        most = std::max(most, double(family.total.count()));
    const exchange::KernelColumns of;
    TableMaker<query::KernelRow> table(families);
    table.add(of.family, 0).swatch = true;
    table.add(onHost ? exchange::OpColumns().self : of.total, 80);
    table
        .add(makeColumn({}, Kind::Bar, 76),
             [&](const query::KernelRow& family) { return makeBar(double(family.total.count()), most); })
        .sortable = false;
    TableData data =
        table.table(families, [](const query::KernelRow& family) { return Swatch::of(family.family); });
    for (std::size_t i = 0; i < families.size(); ++i)
        data.rows[i].id = std::int64_t(families[i].family);
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
