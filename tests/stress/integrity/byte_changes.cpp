#include "stress_integrity.h"

#include "core/base/error.h"
#include "core/store/maintenance/maintenance.h"
#include "store_fixture.h"

#include <sqlite3.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tilescope::stress {

namespace {

/// All values of all tables as text, by SQLite alone; none if it cannot read them.
std::optional<std::string> valuesOf(const std::filesystem::path& file)
{
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, &sqlite3_close);
    if (code != SQLITE_OK)
        return {};
    std::string values;
    const auto read = [&](const std::string& sql, std::vector<std::string>* first) {
        sqlite3_stmt* prepared = nullptr;
        if (sqlite3_prepare_v2(opened, sql.c_str(), -1, &prepared, nullptr) != SQLITE_OK)
            return false;
        const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> row(prepared, &sqlite3_finalize);
        int step = 0;
        while ((step = sqlite3_step(prepared)) == SQLITE_ROW) {
            for (int column = 0; column < sqlite3_column_count(prepared); ++column) {
                values += static_cast<char>('0' + sqlite3_column_type(prepared, column));
                if (const void* bytes = sqlite3_column_blob(prepared, column))
                    values.append(static_cast<const char*>(bytes),
                                  static_cast<std::size_t>(sqlite3_column_bytes(prepared, column)));
                values += '\0';
            }
            if (first)
                first->emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(prepared, 0)));
        }
        return step == SQLITE_DONE;
    };
    std::vector<std::string> tables;
    if (!read("select name from sqlite_schema where type = 'table' order by name", &tables))
        return {};
    for (const std::string& table : tables)
        if (!read("select * from " + table + " not indexed order by id", nullptr))
            return {};
    return values;
}

/// A file whose bytes are changed one at a time.
class ChangedFile {
public:
    explicit ChangedFile(const std::filesystem::path& original) : path_(folder_ / "changed.tscope")
    {
        std::filesystem::copy_file(original, path_);
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
        size_ = static_cast<std::int64_t>(std::filesystem::file_size(path_));
        values_ = valuesOf(path_);
        if (!values_)
            throw Error{.what = "cannot be read", .where = original.string()};
    }

    std::int64_t size() const { return size_; }

    struct Outcome {
        bool isFound = false; ///< by verify
        bool matters = false; ///< a table holds other values, or cannot be read
    };

    /// Gives a byte another value and back.
    Outcome change(std::int64_t offset, unsigned change)
    {
        const int before = exchange(offset, -1);
        exchange(offset, before ^ static_cast<int>(change));
        Outcome outcome{.isFound = true, .matters = valuesOf(path_) != values_};
        try {
            outcome.isFound = !store::verify(path_).ok();
        } catch (const Error&) {
        }
        exchange(offset, before);
        return outcome;
    }

private:
    /// Returns the byte and, unless `value` is negative, replaces it.
    int exchange(std::int64_t offset, int value)
    {
        std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
        file.seekg(offset);
        const int before = file.get();
        if (value >= 0) {
            file.seekp(offset);
            file.put(static_cast<char>(value));
        }
        return before;
    }

    store::testing::TemporaryFolder folder_;
    std::filesystem::path path_;
    std::int64_t size_ = 0;
    std::optional<std::string> values_;
};

} // namespace

int byteChanges(const std::filesystem::path& recording, std::int64_t changes, std::uint64_t seed)
{
    ChangedFile file(recording);
    std::mt19937_64 random(seed);
    const auto change = [&random] { return static_cast<unsigned>(1 + random() % 255); };
    std::int64_t found = 0;
    std::int64_t mattering = 0;
    std::int64_t missed = 0;
    const auto changeAt = [&](std::int64_t offset) {
        const ChangedFile::Outcome outcome = file.change(offset, change());
        found += outcome.isFound ? 1 : 0;
        mattering += outcome.matters ? 1 : 0;
        if (outcome.matters && !outcome.isFound) {
            ++missed;
            std::cerr << "missed: byte " << offset << '\n';
        }
        return outcome.isFound;
    };
    std::int64_t all = 0;
    if (changes == 0)
        for (std::int64_t offset = 0; std::cin >> offset; ++all)
            std::cout << offset << ' ' << changeAt(offset) << '\n';
    for (; all < changes; ++all)
        changeAt(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(file.size())));
    std::cerr << found << " of " << all << " changes of a byte found in " << file.size() << " bytes; "
              << mattering - missed << " of " << mattering << " that change a value\n";
    return missed == 0 ? 0 : 1;
}

} // namespace tilescope::stress
