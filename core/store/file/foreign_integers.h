#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>

namespace tilescope::store {

class ForeignDatabase;

/// The integers in some columns of a table of another program, row by row in the order of their row ids.
///
/// Two threads read parts of a large table ahead, each through its own connection. Each holds about ten
/// thousand rows. They end with this object. Only one thread may use the object.
class ForeignIntegers {
public:
    static constexpr std::size_t kMostColumns = 64;

    /// \param columns  at most kMostColumns. A column that the table lacks is null in every row; a table that the
    ///                 file lacks has no rows.
    ForeignIntegers(const ForeignDatabase& database, std::string_view table,
                    std::initializer_list<std::string_view> columns);
    ~ForeignIntegers();
    ForeignIntegers(ForeignIntegers&&) noexcept;

    /// \throws Error (Usage)  the table is damaged
    bool next();
    /// The integer in a column; none if the value is not an integer.
    std::optional<std::int64_t> integer(int column) const
    {
        const auto index = static_cast<std::size_t>(column);
        return (*kinds_ >> index & 1) != 0 ? std::optional(values_[index]) : std::nullopt;
    }
    std::int64_t integerOr(int column, std::int64_t otherwise) const
    {
        return integer(column).value_or(otherwise);
    }

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
    const std::int64_t* values_ = nullptr; ///< of the row
    const std::uint64_t* kinds_ = nullptr; ///< a bit for each column: whether it is an integer
};

} // namespace tilescope::store
