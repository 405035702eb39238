#pragma once

#include "core/model/text.h"
#include "core/store/rows/columns.h"
#include "core/store/rows/stored_rows.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::store {

/// The values of one row of a run.
class RunRow {
public:
    RunRow(SQLite::Statement& row, StoredRows& rows, const RowFrame& frame)
        : row_(row), rows_(rows), frame_(frame)
    {
    }

    std::int64_t number(const char* column) const { return row_.getColumn(column).getInt64(); }
    std::optional<std::int64_t> optional(const char* column) const { return integer(row_, column); }
    std::string string(const char* column) const { return text(row_, column); }
    template <class T> T narrow(const char* column) const { return narrowed<T>(column, number(column)); }
    template <class T> std::optional<T> optionalNarrow(const char* column) const
    {
        const auto value = optional(column);
        return value ? std::optional(narrowed<T>(column, *value)) : std::nullopt;
    }
    template <class IdType> IdType id(const char* column, std::int64_t first = 0) const
    {
        const auto value = optional(column);
        if (!value)
            return IdType::none();
        return IdType{narrowed<decltype(IdType::value)>(column, *value - first)};
    }
    /// A number of a unit's, for example Bytes; none for null.
    template <class Unit> std::optional<Unit> optionalOf(const char* column) const
    {
        const auto value = optional(column);
        return value ? std::optional(Unit{*value}) : std::nullopt;
    }
    /// \param what  for the error of a word that no value has: "kind of wait"
    template <class E> E word(const char* column, const char* what) const
    {
        const std::string word = string(column);
        const auto value = fromWord<E>(word);
        if (!value)
            rows_.damaged(std::string("there is no ") + what + " '" + word + "'");
        return *value;
    }
    std::uint64_t address() const { return static_cast<std::uint64_t>(number("address")); }
    std::string_view bytes(const char* column) const
    {
        const SQLite::Column value = row_.getColumn(column);
        return {static_cast<const char*>(value.getBlob()), static_cast<std::size_t>(value.getBytes())};
    }
    Timestamp time(const char* column) const { return timestampAt(sum(number(column), frame_.clockOrigin)); }
    std::optional<Timestamp> optionalTime(const char* column) const
    {
        return optional(column) ? std::optional(time(column)) : std::nullopt;
    }
    template <class Event> void times(Event& event) const
    {
        event.start = time("start");
        event.end = timestampAt(sum(nanosecondsOf(event.start), number("duration")));
        const auto step = optionalNarrow<std::int32_t>("step");
        event.step = step.value_or(kNoStep);
    }
    StoredRows& rows() const { return rows_; }
    const RowFrame& frame() const { return frame_; }

    /// Wraps: a damaged time gives a wrong time, not undefined behaviour.
    static std::int64_t sum(std::int64_t a, std::int64_t b)
    {
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }

private:
    template <class T> T narrowed(const char* column, std::int64_t value) const
    {
        if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
            value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
            rows_.damaged(std::string("a column ") + column + " holds " + std::to_string(value));
        return static_cast<T>(value);
    }

    SQLite::Statement& row_;
    StoredRows& rows_;
    const RowFrame& frame_;
};

/// The rows of a table as records.
template <class Record, class From>
std::vector<Record> readAll(StoredRows& rows, RunId run, std::string_view table, From&& from)
{
    const RowFrame frame = rows.frameOf(run);
    std::vector<Record> records;
    rows.eachRow(run, table,
                 [&](SQLite::Statement& row) { records.push_back(from(RunRow(row, rows, frame))); });
    return records;
}

} // namespace tilescope::store
