#include "raw_sqlite.h"

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace tilescope::bench {

namespace {

constexpr int kRangeColumns = 9;
constexpr int kOpColumns = 13;
constexpr int kKernelColumns = 16;
constexpr int kAllocationColumns = 15;

std::string marks(int count)
{
    std::string text = "(?";
    for (int i = 1; i < count; ++i)
        text += ", ?";
    return text + ")";
}

template <class IdType> std::int64_t number(IdType id)
{
    return id ? static_cast<std::int64_t>(id.value) : -1;
}

} // namespace

RawSqlite::RawSqlite(const std::filesystem::path& file)
{
    if (sqlite3_open_v2(file.c_str(), &database_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        nullptr) != SQLITE_OK)
        throw std::runtime_error("cannot open " + file.string());
    exec(
        "pragma page_size = 4096; pragma journal_mode = wal; pragma synchronous = normal;"
        "pragma wal_autocheckpoint = 8000; pragma cache_size = -65536;"
        "create table range (id integer primary key, run, step, start, duration, name, path, parent, thread);"
        "create table op (id integer primary key, run, step, start, duration, name, path, shapes, scope, "
        "range, parent, "
        "thread, sequence);"
        "create table kernel (id integer primary key, run, step, start, duration, name, path, launch, "
        "device, stream, "
        "correlation, range, op, thread, queued, graph_node);"
        "create table allocation (id integer primary key, run, step, start, action, device, address, bytes, "
        "allocated, "
        "reserved, stream, pool, category, path, op)");
    const auto prepare = [this](const char* table, int columns) {
        sqlite3_stmt* statement = nullptr;
        const std::string sql = std::string("insert into ") + table + " values " + marks(columns);
        if (sqlite3_prepare_v3(database_, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) !=
            SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(database_));
        return statement;
    };
    range_ = prepare("range", kRangeColumns);
    op_ = prepare("op", kOpColumns);
    kernel_ = prepare("kernel", kKernelColumns);
    allocation_ = prepare("allocation", kAllocationColumns);
}

RawSqlite::~RawSqlite()
{
    for (sqlite3_stmt* statement : {range_, op_, kernel_, allocation_})
        sqlite3_finalize(statement);
    sqlite3_close(database_);
}

void RawSqlite::exec(const char* sql)
{
    if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(database_));
}

void RawSqlite::encode(const TraceBatch& batch, Timestamp origin, RawRows& rows)
{
    const auto since = [origin](Timestamp time) { return (time - origin).count(); };
    rows.ranges.clear();
    rows.ops.clear();
    rows.kernels.clear();
    rows.allocations.clear();
    for (const Range& r : batch.ranges)
        rows.ranges.insert(rows.ranges.end(),
                           {number(r.id) + 1, 1, r.step, since(r.start), (r.end - r.start).count(),
                            number(r.name), number(r.path), number(r.parent), number(r.thread)});
    for (const Op& o : batch.ops)
        rows.ops.insert(rows.ops.end(),
                        {number(o.id) + 1, 1, o.step, since(o.start), (o.end - o.start).count(),
                         number(o.name), number(o.path), number(o.shapes), static_cast<int>(o.scope),
                         number(o.range), number(o.parent), number(o.thread), o.sequence});
    for (const DeviceEvent& k : batch.deviceEvents)
        rows.kernels.insert(rows.kernels.end(),
                            {-1, 1, k.step, since(k.start), (k.end - k.start).count(), number(k.name),
                             number(k.path), static_cast<std::int64_t>(k.launch.grid[0]), number(k.device),
                             number(k.stream), number(k.correlation), number(k.range), number(k.op),
                             number(k.launchThread), (k.start - k.launched).count(),
                             k.graphNode == 0 ? -1 : static_cast<std::int64_t>(k.graphNode)});
    for (const AllocEvent& a : batch.allocEvents)
        rows.allocations.insert(rows.allocations.end(),
                                {-1, 1, a.step, since(a.time), static_cast<int>(a.action), number(a.device),
                                 static_cast<std::int64_t>(a.address), a.bytes, a.allocated, a.reserved,
                                 number(a.stream), a.pool, number(a.category), number(a.path), number(a.op)});
}

void RawSqlite::insertAll(sqlite3_stmt* statement, const std::vector<std::int64_t>& rows, int columns)
{
    for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(columns)) {
        for (int column = 0; column < columns; ++column)
            if (const std::int64_t value = rows[at + static_cast<std::size_t>(column)]; value == -1)
                sqlite3_bind_null(statement, column + 1);
            else
                sqlite3_bind_int64(statement, column + 1, value);
        sqlite3_step(statement);
        if (sqlite3_reset(statement) != SQLITE_OK)
            throw std::runtime_error(sqlite3_errmsg(database_));
        if (++uncommitted_ == 200'000) {
            exec("commit; begin");
            uncommitted_ = 0;
        }
    }
}

void RawSqlite::insert(const RawRows& rows)
{
    if (sqlite3_get_autocommit(database_))
        exec("begin");
    insertAll(range_, rows.ranges, kRangeColumns);
    insertAll(op_, rows.ops, kOpColumns);
    insertAll(kernel_, rows.kernels, kKernelColumns);
    insertAll(allocation_, rows.allocations, kAllocationColumns);
}

void RawSqlite::finish()
{
    if (!sqlite3_get_autocommit(database_))
        exec("commit");
}

} // namespace tilescope::bench
