// Pages of a database: any bytes end in rows in ascending order of their ids, or an error.

#include "core/base/error.h"
#include "core/store/rows/row_digest.h"
#include "core/store/rows/table_pages.h"
#include "tests/fuzz/sqlite_input.h"

#include <sqlite3.h>

#include <array>
#include <cstdlib>
#include <limits>
#include <stdexcept>

namespace {

constexpr std::size_t kColumns = 5;

void readAll(sqlite3* database, std::int64_t first)
{
    using namespace tilescope;
    std::optional<store::TablePages> pages = store::TablePages::of(database, "t", kColumns);
    if (!pages)
        return;
    std::array<std::int64_t, kColumns> row{};
    std::int64_t previous = std::numeric_limits<std::int64_t>::min();
    pages->seek(first);
    for (bool isFirst = true; pages->next(std::numeric_limits<std::int64_t>::max(), row.data());
         isFirst = false) {
        if (!isFirst && row[0] <= previous)
            std::abort();
        previous = row[0];
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static SqliteInput input;
    sqlite3* database = nullptr;
    if (sqlite3_open_v2(input.holding(data, size).c_str(), &database, SQLITE_OPEN_READONLY, nullptr) ==
            SQLITE_OK &&
        sqlite3_exec(database, "begin; select count(*) from sqlite_schema", nullptr, nullptr, nullptr) ==
            SQLITE_OK)
        for (const std::int64_t first : {std::numeric_limits<std::int64_t>::min(), std::int64_t{100}})
            try {
                readAll(database, first);
            } catch (const tilescope::Error&) {
                // The bytes are not those of a whole table.
            } catch (const std::runtime_error&) {
                // SQLite does not find the table.
            }
    sqlite3_close(database);
    return 0;
}
