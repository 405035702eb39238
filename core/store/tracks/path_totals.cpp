#include "core/store/tracks/path_totals.h"

#include "core/base/error.h"
#include "core/model/strings.h"
#include "core/store/rows/row_inserter.h"
#include "core/store/rows/stored_rows.h"
#include "core/store/rows/writable_file.h"
#include "core/store/tracks/path_totals_reader.h"

#include <string>

namespace tilescope::store {

namespace {

using analysis::PathPart;

constexpr const char* kTable = "path_total";
constexpr int kFirstPart = 7; // column

std::int64_t clockOriginOf(WritableFile& target, RunId run)
{
    const StatementCache::Handle row = target.query("select clock_origin from run where id = ?");
    row->bind(1, run.value);
    if (!row->executeStep())
        throw Error{.what = "no run " + std::to_string(run.value), .where = target.file().string()};
    return row->getColumn(0).getInt64();
}

} // namespace

void writePathTotals(const std::filesystem::path& file, RunId run, std::span<const StepPathTotal> totals,
                     std::int64_t rules)
{
    const StringTable noStrings;
    WritableFile target(file, noStrings);
    translating(file, [&] {
        target.begin();
        const std::int64_t clockOrigin = clockOriginOf(target, run);
        RowInserter rows(target.database(), target.chunks(), kTable,
                         {"id", "run", "rules", "step", "process", "start", "end", "host", "launch",
                          "compute", "memory", "communication", "data_loading", "synchronization",
                          "unexplained"});
        for (const StepPathTotal& total : totals) {
            const auto part = [&total](PathPart which) { return std::int64_t{total.parts[which].count()}; };
            rows.insert(run.value,
                        {std::int64_t{run.value}, rules,
                         total.step ? Cell(std::int64_t{*total.step}) : Cell(),
                         total.process ? Cell(std::int64_t{total.process.value}) : Cell(),
                         nanosecondsOf(total.start) - clockOrigin, nanosecondsOf(total.end) - clockOrigin,
                         part(PathPart::Host), part(PathPart::Launch), part(PathPart::Compute),
                         part(PathPart::Memory), part(PathPart::Communication), part(PathPart::DataLoading),
                         part(PathPart::Synchronization), part(PathPart::Unexplained)});
        }
        target.commit();
        target.seal();
    });
}

std::vector<StepPathTotal> readPathTotals(StoredRows& rows, RunId run)
{
    const RowFrame frame = rows.frameOf(run);
    std::vector<StepPathTotal> totals;
    rows.eachRow(run, kTable, [&](SQLite::Statement& row) {
        const auto number = [&row](int column) { return row.getColumn(column).getInt64(); };
        if (number(2) != analysis::kPathRules)
            return;
        StepPathTotal total{
            .step = row.isColumnNull(3) ? std::nullopt : std::optional(row.getColumn(3).getInt()),
            .process = row.isColumnNull(4) ? ProcessIndex{} : ProcessIndex{row.getColumn(4).getInt()},
            .start = timestampAt(number(5) + frame.clockOrigin),
            .end = timestampAt(number(6) + frame.clockOrigin)};
        for (std::size_t i = 0; i < analysis::kPathParts; ++i)
            total.parts[static_cast<PathPart>(i)] = Nanoseconds(number(kFirstPart + static_cast<int>(i)));
        totals.push_back(total);
    });
    return totals;
}

} // namespace tilescope::store
