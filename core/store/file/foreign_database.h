#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

/// A SQLite database of another program, open for reading. Its content is untrusted.
///
/// Only ordinary tables are visible: views, virtual tables and generated columns could run expressions of the
/// file. The file is neither locked nor written, and no other file is read. One thread.
class ForeignDatabase {
public:
    /// Whether a file begins like a SQLite database that is not a recording of Tilescope.
    /// \param head  the first 100 bytes of the file or more
    static bool isDatabase(std::string_view head);

    /// \throws Error (Usage)  the file is not a database, is damaged, or has a write-ahead log beside it
    explicit ForeignDatabase(const std::filesystem::path& file);
    ~ForeignDatabase();
    ForeignDatabase(const ForeignDatabase&) = delete;
    ForeignDatabase& operator=(const ForeignDatabase&) = delete;

    const std::filesystem::path& file() const;
    /// Names of the tables, sorted.
    const std::vector<std::string>& tables() const;
    bool hasTable(std::string_view table) const;
    bool hasColumn(std::string_view table, std::string_view column) const;
    /// Whether the rows of a table have row ids that a query can name.
    bool hasRowIds(std::string_view table) const;
    /// An upper bound of the rows of a table from its largest row id; exact if no row was ever deleted. Fast.
    std::int64_t aboutRows(std::string_view table) const;
    /// Counts the rows of a table; 0 if there is no such table. Reads all of it.
    std::int64_t countRows(std::string_view table) const;

    /// The rows of a table in the order of their row ids. Valid as long as the database.
    class Rows {
    public:
        Rows(Rows&&) noexcept;
        ~Rows();

        /// \throws Error (Usage)  the table is damaged
        bool next();
        /// Starts again, with the rows whose ids are in [first, last].
        /// \pre the rows are those of readWithin()
        void restart(std::int64_t first, std::int64_t last);
        bool isNull(int column) const;
        /// The integer in a column; none if the value is not an integer.
        std::optional<std::int64_t> integer(int column) const;
        std::int64_t integerOr(int column, std::int64_t otherwise) const;
        /// Text in UTF-8 or bytes, valid until next(); empty if the value is null.
        std::string_view text(int column) const;

    private:
        friend class ForeignDatabase;
        class Impl;
        explicit Rows(std::unique_ptr<Impl> impl);
        std::unique_ptr<Impl> impl_;
    };
    /// Reads `columns` of a table. A column that the table lacks is null in every row; a table that the file
    /// lacks has no rows.
    Rows read(std::string_view table, std::span<const std::string_view> columns) const;
    Rows read(std::string_view table, std::initializer_list<std::string_view> columns) const
    {
        return read(table, std::span(columns.begin(), columns.size()));
    }
    /// The same for parts of a table with row ids: restart() chooses the first part.
    Rows readWithin(std::string_view table, std::span<const std::string_view> columns) const;

private:
    Rows rowsOf(std::string_view table, std::span<const std::string_view> columns,
                std::string_view where) const;

    class Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace tilescope::store
