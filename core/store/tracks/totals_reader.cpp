#include "core/store/tracks/totals_reader.h"

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"

namespace tilescope::store {

namespace {

StringId textAt(SQLite::Statement& row, int column)
{
    return row.isColumnNull(column) ? StringId::none()
                                    : StringId{static_cast<std::uint32_t>(row.getColumn(column).getInt64())};
}

std::optional<Nanoseconds> timeAt(SQLite::Statement& row, int column)
{
    return row.isColumnNull(column) ? std::nullopt
                                    : std::optional(Nanoseconds(row.getColumn(column).getInt64()));
}

KernelTotal kernelFrom(SQLite::Statement& row, const StoredRows& rows)
{
    const auto number = [&row](int column) { return row.getColumn(column).getInt64(); };
    const auto kind = fromWord<DeviceEventKind>(row.getColumn(2).getText());
    if (!kind || number(5) < 1)
        rows.damaged("sums of its kernels are not as Tilescope writes them");
    return {*kind,     textAt(row, 3), textAt(row, 4), number(5),
            number(6), number(7),      number(8),      row.getColumn(9).getDouble()};
}

StepTotal stepFrom(SQLite::Statement& row, const RowFrame& frame)
{
    const auto number = [&row](int column) { return row.getColumn(column).getInt64(); };
    const auto time = [&number](int column) { return Nanoseconds(number(column)); };
    return {.step = row.getColumn(2).getInt(),
            .process = row.isColumnNull(10) ? ProcessIndex{} : ProcessIndex{row.getColumn(10).getInt()},
            .start = timestampAt(number(3) + frame.clockOrigin),
            .end = timestampAt(number(4) + frame.clockOrigin),
            .gpuBusy = time(5),
            .launching = time(6),
            .synchronizing = time(7),
            .tracing = time(8),
            .unexplained = time(9)};
}

} // namespace

RunTotals readTotals(StoredRows& rows, RunId run)
{
    RunTotals totals;
    rows.eachRow(run, "kernel_total",
                 [&](SQLite::Statement& row) { totals.kernels.push_back(kernelFrom(row, rows)); });
    rows.eachRow(run, "range_total", [&](SQLite::Statement& row) {
        totals.paths.push_back({std::string(rows.text(row.getColumn(2).getInt64())),
                                row.getColumn(3).getInt64(), timeAt(row, 4), timeAt(row, 5)});
    });
    totals.steps = readStepTotals(rows, run);
    return totals;
}

std::vector<StepTotal> readStepTotals(StoredRows& rows, RunId run)
{
    const RowFrame frame = rows.frameOf(run);
    std::vector<StepTotal> steps;
    rows.eachRow(run, "step_total", [&](SQLite::Statement& row) { steps.push_back(stepFrom(row, frame)); });
    return steps;
}

} // namespace tilescope::store
