#pragma once

#include "core/store/file/foreign_database.h"
#include "core/store/file/foreign_integers.h"

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// A SQLite export of Nsight Systems: its tables by their documented names, its strings and enumerations.
///
/// Exports of 2019 to 2026 differ in tables and columns, and nothing in a file states reliably which it has:
/// tables without rows are absent, and every column is looked up. One thread.
class NsysFile {
public:
    /// Whether the tables are those of an export of Nsight Systems.
    static bool matches(const store::ForeignDatabase& database);

    /// \throws Error (Usage)  the file is not a database or is damaged
    explicit NsysFile(const std::filesystem::path& file);

    const store::ForeignDatabase& database() const { return database_; }

    /// The name of a table in this file: exports may add a suffix (`_V2`). Empty if there is none.
    std::string tableNamed(std::string_view name) const;
    store::ForeignDatabase::Rows read(std::string_view name,
                                      std::initializer_list<std::string_view> columns) const;
    /// The same for tables with many rows, of which only integers are of use.
    store::ForeignIntegers readIntegers(std::string_view name,
                                        std::initializer_list<std::string_view> columns) const;
    std::int64_t aboutRows(std::string_view name) const;

    /// A text of the table StringIds; empty if there is none of this id. Valid as long as the file.
    std::string_view string(std::int64_t id) const;
    std::string_view string(std::optional<std::int64_t> id) const { return id ? string(*id) : ""; }

    /// The number of a symbol in one of the file's enumerations.
    /// \param otherwise  the number in files without the enumeration
    std::int64_t enumerator(std::string_view table, std::string_view symbol, std::int64_t otherwise) const;

    /// A value of TARGET_INFO_SYSTEM_ENV, META_DATA_EXPORT or EXPORT_META_DATA; empty if there is none.
    std::string fact(std::string_view table, std::string_view name) const;

private:
    void readStrings();

    store::ForeignDatabase database_;
    std::vector<std::string> dense_;                       ///< strings by id, where ids are dense
    std::unordered_map<std::int64_t, std::string> sparse_; ///< otherwise
};

/// The number that exports use for a process: 8 bits of the virtual machine, 24 bits of the process id. A
/// globalPid or globalTid has 24 more bits, of the thread.
inline std::uint64_t processKey(std::int64_t globalId)
{
    return static_cast<std::uint64_t>(globalId) >> 24;
}
inline std::int64_t pidOf(std::uint64_t key)
{
    return static_cast<std::int64_t>(key & 0xffffff);
}
inline std::int64_t tidOf(std::int64_t globalTid)
{
    return globalTid & 0xffffff;
}

/// A correlation id; 0, which is none, for a value that cannot be one.
inline std::uint32_t correlationOf(std::optional<std::int64_t> value)
{
    return value && *value > 0 && *value <= std::numeric_limits<std::uint32_t>::max()
               ? static_cast<std::uint32_t>(*value)
               : 0;
}

} // namespace tilescope::exchange
