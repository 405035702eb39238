#include "core/store/tracks/call_totals_reader.h"

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"

namespace tilescope::store {

namespace {

/// Reads the columns of a row one after the other, from the one after `run`.
class RowValues {
public:
    RowValues(SQLite::Statement& row, const StoredRows& rows) : row_(row), rows_(rows) {}

    std::int64_t number() { return row_.getColumn(column_++).getInt64(); }
    std::string bytes()
    {
        const SQLite::Column column = row_.getColumn(column_++);
        return {static_cast<const char*>(column.getBlob()), static_cast<std::size_t>(column.getBytes())};
    }
    double real() { return row_.getColumn(column_++).getDouble(); }
    bool flag() { return number() != 0; }
    /// kNoStep if it is null.
    std::int32_t step()
    {
        const bool none = isNull();
        const std::int64_t value = number();
        return none ? kNoStep : static_cast<std::int32_t>(value);
    }
    const char* text() { return row_.getColumn(column_++).getText(); }
    bool isNull() const { return row_.isColumnNull(column_); }
    template <class IdType> IdType id()
    {
        const bool none = isNull();
        const std::int64_t value = number();
        return none ? IdType::none() : IdType{static_cast<decltype(IdType::value)>(value)};
    }
    /// A number of an op below `limit`; none if it is null.
    std::uint32_t op(std::size_t limit)
    {
        const bool none = isNull();
        const std::int64_t value = number();
        if (!none && (value < 0 || static_cast<std::size_t>(value) >= limit))
            rows_.damaged("sums of its calls name an op that they do not have");
        return none ? kNoOpCall : static_cast<std::uint32_t>(value);
    }

private:
    SQLite::Statement& row_;
    const StoredRows& rows_;
    int column_ = 2;
};

OpCallTotal opFrom(RowValues values, std::size_t place, bool& countsWork)
{
    values.number();
    OpCallTotal total;
    total.caller = values.op(place);
    total.name = values.id<StringId>();
    total.shapes = values.id<StringId>();
    total.path = values.id<StringId>();
    total.process = values.id<ProcessIndex>();
    total.isTraced = values.flag();
    total.first = values.id<OpId>();
    total.calls = values.number();
    countsWork = countsWork && !values.isNull();
    total.launching = values.number();
    total.total = values.number();
    total.self = values.number();
    total.steps.first = values.step();
    if (!values.isNull())
        total.steps.bits = values.bytes();
    return total;
}

ActivityTotal activityFrom(RowValues values, std::size_t ops, const StoredRows& rows)
{
    ActivityTotal total;
    const auto kind = fromWord<DeviceEventKind>(values.text());
    if (!kind)
        rows.damaged("sums of its calls are not as Tilescope writes them");
    total.kind = *kind;
    total.name = values.id<StringId>();
    total.path = values.id<StringId>();
    total.process = values.id<ProcessIndex>();
    total.op = values.op(ops);
    total.isTraced = values.flag();
    total.isLaunched = values.flag();
    total.isReplayed = values.flag();
    total.instances = values.number();
    total.total = values.number();
    total.shortest = values.number();
    total.longest = values.number();
    total.squares = values.real();
    total.steps.first = values.step();
    if (!values.isNull())
        total.steps.bits = values.bytes();
    return total;
}

AllocationTotal allocationFrom(RowValues values, std::size_t ops)
{
    AllocationTotal total;
    total.path = values.id<StringId>();
    total.category = values.id<StringId>();
    total.process = values.id<ProcessIndex>();
    total.op = values.op(ops);
    total.isTraced = values.flag();
    total.isOnGpu = values.flag();
    total.blocks = values.number();
    total.bytes = values.number();
    return total;
}

} // namespace

std::optional<CallTotals> readCallTotals(StoredRows& rows, RunId run)
{
    CallTotals totals;
    totals.countsWork = true;
    rows.eachRow(run, "op_total", [&](SQLite::Statement& row) {
        totals.ops.push_back(opFrom({row, rows}, totals.ops.size(), totals.countsWork));
    });
    rows.eachRow(run, "activity_total", [&](SQLite::Statement& row) {
        totals.activities.push_back(activityFrom({row, rows}, totals.ops.size(), rows));
    });
    rows.eachRow(run, "allocation_total", [&](SQLite::Statement& row) {
        totals.allocations.push_back(allocationFrom({row, rows}, totals.ops.size()));
    });
    if (totals.ops.empty() && totals.activities.empty() && totals.allocations.empty())
        return {};
    return totals;
}

} // namespace tilescope::store
