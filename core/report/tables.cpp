#include "core/report/tables.h"

#include "core/config/schema.h"
#include "core/config/value_text.h"
#include "core/exchange/tables/number.h"
#include "core/report/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tilescope::report {

namespace {

using RunPtr = std::shared_ptr<const RunFacts>;

std::string bytesText(const std::optional<Bytes>& bytes)
{
    return bytes ? exchange::withUnit(static_cast<double>(bytes->count), exchange::Unit::Bytes)
                 : "an unknown size";
}

std::string whyOutOfMemory(const RunResult& result)
{
    if (!result.oom)
        return "Out of memory.";
    std::string text =
        "Out of memory in " + result.oom->phase + ": " + bytesText(result.oom->requested) + " asked";
    if (result.oom->allocated)
        text += ", " + bytesText(result.oom->allocated) + " allocated";
    return text + ".";
}

/// The cell and explanation of a run that did not end ok; a plain text for other runs.
std::pair<Cell, std::string> cellOfStatus(const RunResult& result)
{
    switch (result.status) {
    case RunStatus::Oom:
        return {Cell{.kind = Cell::Kind::OutOfMemory, .text = "OOM"}, whyOutOfMemory(result)};
    case RunStatus::Skipped:
        return {Cell{.kind = Cell::Kind::Skipped, .text = "skipped"}, "Skipped: " + result.reason + "."};
    case RunStatus::Ok:
        return {Cell{.kind = Cell::Kind::Missing, .text = "–"}, {}};
    default:
        return {Cell{.kind = Cell::Kind::Failed, .text = "failed"}, "Failed: " + result.reason + "."};
    }
}

std::string baseUnitOf(exchange::Unit unit)
{
    switch (unit) {
    case exchange::Unit::Milliseconds:
        return "ms";
    case exchange::Unit::Bytes:
        return "B";
    case exchange::Unit::Percent:
        return "%";
    case exchange::Unit::Operations:
        return "FLOP";
    default:
        return "1";
    }
}

/// A column under construction. Its numbers become text together, once all columns are known.
class ColumnMaker {
public:
    ColumnMaker(Table& table, const ColumnTemplate& wanted, const std::vector<std::string>& keys,
                const RunList& part)
        : table_(table), wanted_(wanted), keys_(keys), part_(part)
    {
    }

    void add(const RunList& runs)
    {
        RunPtr run;
        const Fact fact =
            quantityOf(runs, divisorsOf(wanted_.quantity, keys_, runs, part_), wanted_.quantity, run);
        Cell cell{.kind = Cell::Kind::Missing, .text = "–"};
        if (run) {
            auto [status, why] = cellOfStatus(run->record().result);
            cell = std::move(status);
            if (!why.empty())
                cell.note = noteOf(std::move(why));
        }
        const bool isShown = cell.kind == Cell::Kind::Missing || isKnownWithoutResult();
        if (const auto* text = std::get_if<std::string>(&fact); text && isShown && !text->empty())
            cell = {.text = *text};
        else if (const auto* measured = std::get_if<Measured>(&fact); measured && isShown)
            cell = numberCell(*measured);
        cells_.push_back(std::move(cell));
    }

    /// A last cell: the geometric mean of a ratio's values; empty in other columns.
    void addGeometricMean()
    {
        double logs = 0;
        std::int64_t n = 0;
        for (const Cell& cell : cells_)
            if (cell.value && *cell.value > 0) {
                logs += std::log(*cell.value);
                ++n;
            }
        if (wanted_.quantity.over.empty() || n == 0)
            cells_.push_back({.kind = Cell::Kind::Text});
        else
            cells_.push_back(
                {.kind = Cell::Kind::Number, .value = std::exp(logs / static_cast<double>(n)), .n = n});
    }

    exchange::Unit unit() const { return unit_; }

    void sizesInto(std::vector<double>& sizes) const
    {
        for (const Cell& cell : cells_)
            if (cell.value && *cell.value != 0)
                sizes.push_back(std::abs(*cell.value));
    }

    /// Adds the finished column to the table, which already has its rows.
    void finish(const exchange::Scale& scale)
    {
        const bool counts = areCounts();
        for (Cell& cell : cells_)
            if (cell.value) {
                cell.text =
                    counts ? scale.text(static_cast<std::int64_t>(*cell.value)) : scale.text(*cell.value);
                if (showsInterval(*cell.value, cell.interval))
                    cell.text += fmt::format(" ({} to {})", scale.text(cell.interval->low),
                                             scale.text(cell.interval->high));
            }
        const bool numeric =
            std::ranges::any_of(cells_, [](const Cell& cell) { return cell.value.has_value(); });
        table_.columns.push_back({wanted_.heading, scale.suffix, numeric ? baseUnitOf(unit_) : "", numeric});
        for (std::size_t row = 0; row < cells_.size(); ++row)
            table_.rows[row].push_back(std::move(cells_[row]));
    }

private:
    /// The status and the keys of the spec are known for every run, whatever its status.
    bool isKnownWithoutResult() const
    {
        const std::string& value = wanted_.quantity.value;
        return value == "status" || value == "reason" ||
               (wanted_.quantity.over.empty() && config::findKey(value) != nullptr);
    }

    /// Counts, which are shown as whole numbers.
    bool areCounts() const
    {
        return unit_ == exchange::Unit::None && wanted_.quantity.over.empty() &&
               std::ranges::all_of(cells_, [](const Cell& cell) {
                   return !cell.interval && cell.value.value_or(0) == std::round(cell.value.value_or(0));
               });
    }

    Cell numberCell(const Measured& measured)
    {
        unit_ = measured.unit;
        return {.kind = Cell::Kind::Number,
                .value = measured.value,
                .interval = measured.interval,
                .n = measured.n};
    }

    std::size_t noteOf(std::string text)
    {
        const auto found = std::ranges::find(table_.notes, text);
        if (found != table_.notes.end())
            return static_cast<std::size_t>(found - table_.notes.begin());
        table_.notes.push_back(std::move(text));
        return table_.notes.size() - 1;
    }

    Table& table_;
    const ColumnTemplate& wanted_;
    const std::vector<std::string>& keys_; ///< of the rows
    const RunList& part_;
    exchange::Unit unit_ = exchange::Unit::None;
    std::vector<Cell> cells_;
};

/// Columns with the same quantity share one unit, that of their largest value, so that they can be compared.
exchange::Scale scaleOf(const ColumnMaker& column, const std::vector<ColumnMaker>& all)
{
    std::vector<double> sizes{0};
    for (const ColumnMaker& other : all)
        if (other.unit() == column.unit())
            other.sizesInto(sizes);
    return exchange::scaleFor(column.unit(), std::ranges::max(sizes));
}

bool allNumbers(const std::vector<std::vector<std::string>>& rows, std::size_t column)
{
    return std::ranges::all_of(rows, [column](const auto& row) {
        return row[column].find_first_not_of("0123456789.") == std::string::npos;
    });
}

/// The number of samples behind the medians, if the table has any: `Medians, n = 10.`
std::string samplesNote(const Table& table)
{
    std::int64_t least = 0;
    std::int64_t most = 0;
    for (const auto& row : table.rows)
        for (const Cell& cell : row)
            if (cell.value && cell.n && *cell.n > 1) {
                least = least == 0 ? *cell.n : std::min(least, *cell.n);
                most = std::max(most, *cell.n);
            }
    if (most == 0)
        return {};
    return least == most ? fmt::format("Medians, n = {}.", least)
                         : fmt::format("Medians, n = {} to {}.", least, most);
}

/// Removes columns without any result and names them in a note: on a CPU those of the GPU, for example.
void removeEmpty(Table& table)
{
    std::string removed;
    for (std::size_t column = table.columns.size(); column-- > 0;) {
        const auto isEmpty = [column](const std::vector<Cell>& row) {
            return row[column].kind == Cell::Kind::Missing || row[column].text.empty();
        };
        if (table.columns[column].isKey || !std::ranges::all_of(table.rows, isEmpty))
            continue;
        removed = table.columns[column].heading + (removed.empty() ? "" : "; ") + removed;
        table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
        for (auto& row : table.rows)
            row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
    if (!removed.empty())
        table.caption += (table.caption.empty() ? "" : " ") + ("Not measured: " + removed + ".");
}

/// The first cell of a row of skipped runs gives the reason; the others stay empty.
void nameSkippedOnce(Table& table)
{
    for (auto& row : table.rows) {
        const auto first = std::ranges::find(row, Cell::Kind::Skipped, &Cell::kind);
        for (auto cell = first; cell != row.end(); ++cell)
            if (cell != first && cell->kind == Cell::Kind::Skipped && cell->note == first->note) {
                cell->text.clear();
                cell->note.reset();
            }
    }
}

} // namespace

Table makeTable(const TableTemplate& wanted, const StudyRuns& study)
{
    const RunList runs = select(study, wanted.part, wanted.from);
    Table table{.id = wanted.id, .caption = filled(wanted.caption, runs)};
    const auto keys = distinctKeys(runs, wanted.rows);
    for (std::size_t i = 0; i < wanted.rows.size(); ++i)
        table.columns.push_back({.heading = wanted.rows[i], .numeric = allNumbers(keys, i), .isKey = true});
    std::vector<RunList> rows;
    for (const std::vector<std::string>& values : keys) {
        Where where;
        std::vector<Cell> cells;
        for (std::size_t i = 0; i < values.size(); ++i) {
            where.emplace_back(wanted.rows[i], values[i]);
            cells.push_back({.text = config::valueText(wanted.rows[i], values[i])});
        }
        RunList& row = rows.emplace_back();
        std::ranges::copy_if(runs, std::back_inserter(row),
                             [&](const RunPtr& run) { return matches(*run, where); });
        table.rows.push_back(std::move(cells));
    }
    // A row of means; removed again if no ratio has a value.
    if (wanted.geometricMean && !rows.empty()) {
        table.rows.emplace_back(wanted.rows.size());
        table.rows.back().front().text = "geometric mean";
    }
    std::vector<ColumnMaker> columns;
    for (const ColumnTemplate& column : wanted.columns) {
        ColumnMaker& maker = columns.emplace_back(table, column, wanted.rows, runs);
        for (const RunList& row : rows)
            maker.add(row);
        if (wanted.geometricMean && !rows.empty())
            maker.addGeometricMean();
    }
    std::vector<exchange::Scale> scales;
    for (const ColumnMaker& column : columns)
        scales.push_back(scaleOf(column, columns));
    for (std::size_t i = 0; i < columns.size(); ++i)
        columns[i].finish(scales[i]);
    const auto hasValue = [](const Cell& cell) { return cell.value.has_value(); };
    if (wanted.geometricMean && !rows.empty() && std::ranges::none_of(table.rows.back(), hasValue))
        table.rows.pop_back();
    if (const std::string note = samplesNote(table); !note.empty())
        table.caption += (table.caption.empty() ? "" : " ") + note;
    removeEmpty(table);
    nameSkippedOnce(table);
    return table;
}

} // namespace tilescope::report
