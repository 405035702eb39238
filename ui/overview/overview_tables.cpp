#include "ui/overview/overview_tables.h"

#include "core/exchange/kernels/kernel_columns.h"
#include "core/query/memory/memory_difference.h"
#include "ui/kit/number_text.h"
#include "ui/kit/path_text.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"
#include "ui/memory/memory_rows.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <map>

namespace tilescope::ui {

namespace {

constexpr std::size_t kMostRows = 60;

// A row of a table about one run or two: what each of them has, if it has it.
struct PairRow {
    QString name;
    QString detail;
    Swatch swatch;
    std::optional<double> values[2] = {};
    double counts[2] = {0, 0};

    double greatest() const { return std::max(values[0].value_or(0), values[1].value_or(0)); }
};

struct PairTable {
    QString first;  ///< title of the names
    QString detail; ///< title of the second column; empty: there is none
    quantity::Unit unit = quantity::Unit::Nanoseconds;
    bool counts = false;
    bool difference = false;
    analysis::Verdict verdict = analysis::Verdict::Inconclusive; ///< on the step times of the pair
    bool swatches = true;
    bool total = false;
};

TableMaker<PairRow> columnsOf(const std::vector<PairRow>& rows, const PairTable& table, bool pair)
{
    using Kind = TableColumn::Kind;
    using Value = exchange::ColumnOf<PairRow>;
    const exchange::KernelColumns of;
    TableMaker<PairRow> columns(rows);
    columns
        .add(makeColumn(table.first, Kind::Text, 0),
             [](const PairRow& row) {
                 return makeWords(row.name, row.detail.isEmpty()
                                                ? QString()
                                                : row.name + QStringLiteral(", ") + row.detail);
             })
        .swatch = table.swatches;
    if (!table.detail.isEmpty())
        columns.add(makeColumn(table.detail, Kind::Text, 96, true),
                    [](const PairRow& row) { return makeWords(row.detail); });
    const std::size_t runs = pair ? 2 : 1;
    const QString letters[] = {pair ? QStringLiteral("A") : QString(), QStringLiteral("B")};
    for (std::size_t run = 0; run < runs; ++run)
        columns.add(Value("", letters[run].toStdString(),
                          [run](const PairRow& row) { return row.values[run]; },
                          {.unit = table.unit, .unitGroup = 1}),
                    66, kMissingIsZero);
    const double most = rows.empty() ? 0 : rows.front().greatest();
    columns
        .add(makeColumn(pair ? QStringLiteral("A over B") : QString(), Kind::Bar, pair ? 56 : 76),
             [most, pair](const PairRow& row) {
                 TableCell bar = makeBar(row.values[0].value_or(0), most);
                 bar.secondBar = pair && most > 0 ? row.values[1].value_or(0) / most : -1;
                 return bar;
             })
        .sortable = false;
    if (pair && table.difference)
        columns.add(
            Value("", "B - A",
                  [](const PairRow& row) { return row.values[1].value_or(0) - row.values[0].value_or(0); },
                  {.unit = table.unit, .meaning = exchange::Meaning::Difference, .unitGroup = 1}),
            80, [verdict = table.verdict](TableCell& cell, const PairRow&) {
                cell.tone = toneOf(cell.sort, verdict);
            });
    for (std::size_t run = 0; table.counts && run < runs; ++run)
        columns
            .add(makeColumnOf(of.instances.about, Kind::Number, pair ? 62 : 52, letters[run]),
                 [run](const PairRow& row) { return makeCount(row.counts[run]); })
            .dim = true;
    return columns;
}

TableData tableOf(std::vector<PairRow> rows, const PairTable& table, bool pair)
{
    std::stable_sort(rows.begin(), rows.end(),
                     [](const PairRow& a, const PairRow& b) { return a.greatest() > b.greatest(); });
    PairRow all{.name = QStringLiteral("all"), .detail = {}, .swatch = {}};
    for (const PairRow& row : rows) {
        for (int i = 0; i < 2; ++i) {
            if (row.values[i])
                all.values[i] = all.values[i].value_or(0) + *row.values[i];
            all.counts[i] += row.counts[i];
        }
    }
    if (rows.size() > kMostRows)
        rows.resize(kMostRows);
    const TableMaker<PairRow> columns = columnsOf(rows, table, pair);
    TableData data = columns.table(rows, &PairRow::swatch);
    if (table.total && !data.rows.empty()) {
        TableRow row = columns.row(all);
        for (TableCell& cell : row.cells)
            cell.bar = cell.secondBar = -1;
        row.id = -1;
        row.strong = row.section = true;
        row.selectable = false;
        data.rows.push_back(std::move(row));
    }
    return data;
}

// Rows by key, in the order in which keys first come.
class PairRows {
public:
    PairRow& at(const QString& key)
    {
        const auto [entry, isNew] = positions_.emplace(key, rows_.size());
        if (isNew)
            rows_.emplace_back();
        return rows_[entry->second];
    }
    std::vector<PairRow> take() { return std::move(rows_); }

private:
    std::map<QString, std::size_t> positions_;
    std::vector<PairRow> rows_;
};

} // namespace

bool coversRecordings(const OverviewData& data)
{
    return std::ranges::all_of(data.runs,
                               [](const OverviewRun& run) { return run.data->run.coversRecording(); });
}

namespace {

/// What times of a whole recording are divided by, which are shown for a mean process.
double processesOf(const query::RunOverview& run)
{
    if (run.step)
        return double(run.step->processes);
    return run.process.empty() ? std::max(1.0, double(run.topology.processes.size())) : 1;
}

} // namespace

TableData familyShareRows(const OverviewData& data)
{
    const bool ofRecordings = coversRecordings(data);
    PairRows rows;
    for (std::size_t i = 0; i < data.runs.size(); ++i) {
        for (const query::FamilyShare& share : data.runs[i].data->families) {
            const QString name = QString::fromUtf8(hueWord(share.hue));
            PairRow& row = rows.at(name);
            row.name = name;
            row.swatch = Swatch::of(share.hue);
            const query::RunOverview& run = *data.runs[i].data;
            const bool ofAll = ofRecordings || run.span;
            const double processes = processesOf(run);
            row.values[i] = ofAll ? share.total / processes : share.perStep;
            row.counts[i] = ofAll ? share.instances / processes : share.instancesPerStep;
        }
    }
    PairTable table{.first = titleOf(exchange::KernelColumns().family.about), .detail = {}};
    table.counts = table.total = true;
    return tableOf(rows.take(), table, data.runs.size() > 1);
}

TableData rangeShareRows(const OverviewData& data)
{
    PairRows rows;
    for (std::size_t i = 0; i < data.runs.size(); ++i) {
        const query::RunOverview& run = *data.runs[i].data;
        for (const analysis::RangeTotal& range : run.ranges.rows) {
            if (range.path == "step" || !range.wall)
                continue;
            PairRow& row = rows.at(QString::fromStdString(range.path));
            row.name = belowStep(range.path);
            row.swatch = query::hueOfRange(range.path) == query::Hue::Range
                             ? Swatch::neutral()
                             : Swatch::of(query::Hue::Attention);
            row.values[i] =
                double(range.wall->count()) / (run.step ? double(run.step->allSteps) : processesOf(run));
        }
    }
    PairTable table{.first = titleOf(exchange::RangeColumns(false).path.about), .detail = {}};
    // A run without a traced step has no ranges to compare with.
    table.difference =
        std::ranges::all_of(data.runs, [](const OverviewRun& run) { return run.data->step.has_value(); });
    if (data.stepDifference)
        table.verdict = data.stepDifference->verdict;
    table.swatches = false;
    return tableOf(rows.take(), table, data.runs.size() > 1);
}

TableData runRows(const std::vector<NamedRun>& runs)
{
    const exchange::RunColumns<NamedRun> of;
    TableMaker<NamedRun> table(runs);
    table.add(nameColumn(), nameCell);
    table.add(of.status, 104, showStatus).dim = true;
    table.add(of.step, 110);
    table.add(of.interval, 132).dim = true;
    table.add(of.samples, 44).dim = true;
    table.addBar(of.step, 180);
    table.add(makeColumn(QStringLiteral("Speedup over A, ×"), TableColumn::Kind::Number, 124),
              [first = medianStepOf(*runs.front().summary)](const NamedRun& run) {
                  return makeRatio(first, medianStepOf(*run.summary));
              });
    table.add(of.peakAllocated, 132);
    table.addBar(of.peakAllocated, 140);
    return table.table(runs, [](const NamedRun&) { return Swatch::neutral(); });
}

TableData allocationRows(const OverviewData& data)
{
    PairRows rows;
    for (std::size_t i = 0; i < data.runs.size(); ++i) {
        const auto& live = data.runs[i].data->live;
        if (!live)
            continue;
        for (const std::uint32_t block : live->blocks) {
            const QString group = blockGroup(*live->history, block);
            PairRow& row = rows.at(group);
            row.name = group.section(QLatin1Char('\n'), 0, 0);
            row.detail = group.section(QLatin1Char('\n'), 1);
            row.swatch = Swatch::ofCategory(row.detail);
            row.values[i] = row.values[i].value_or(0) + double(live->history->blocks[block].bytes);
        }
        if (live->untraced > Bytes{}) {
            PairRow& row = rows.at(QString());
            row.name = QStringLiteral("not in a known block");
            row.detail = QStringLiteral("unattributed");
            row.swatch = Swatch::ofCategory(row.detail);
            row.values[i] = double(live->untraced.count);
        }
    }
    const bool pair = data.runs.size() > 1; // two runs need the room; the colour still tells the category
    const bool requested = std::ranges::all_of(
        data.runs, [](const OverviewRun& run) { return run.data->run.traits().countsRequested; });
    PairTable table{.first = requested ? QStringLiteral("Requested in") : QStringLiteral("Allocated in"),
                    .detail = pair ? QString() : QStringLiteral("Category")};
    table.unit = quantity::Unit::Bytes;
    return tableOf(rows.take(), table, pair);
}

} // namespace tilescope::ui
