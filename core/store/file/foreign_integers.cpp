#include "core/store/file/foreign_integers.h"

#include "core/base/bounded_queue.h"
#include "core/store/file/foreign_database.h"

#include <array>
#include <cassert>
#include <exception>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tilescope::store {

namespace {

/// Rows that are read together. Tables of fewer are not worth a thread.
constexpr std::size_t kBlockRows = 4096;
constexpr std::size_t kMostBlocks = 4;
/// Threads that read a table. Each thread takes the next part of a fixed number of row ids.
constexpr std::int64_t kReaders = 2;
constexpr std::int64_t kPartIds = 16'384;

struct IntegerBlock {
    std::vector<std::int64_t> values; ///< by row, then by column; 0 where there is no integer
    std::vector<std::uint64_t> kinds; ///< by row: a bit for each column
    bool isLast = false;              ///< of its part
};

/// The next rows of a table or part.
/// \param failure  what ended the reading after these rows
IntegerBlock nextBlock(ForeignDatabase::Rows& rows, std::size_t columns, std::exception_ptr& failure)
{
    IntegerBlock block;
    block.values.reserve(kBlockRows * columns);
    block.kinds.reserve(kBlockRows);
    try {
        while (block.kinds.size() < kBlockRows && rows.next()) {
            std::uint64_t kinds = 0;
            for (std::size_t column = 0; column < columns; ++column) {
                const auto value = rows.integer(static_cast<int>(column));
                kinds |= std::uint64_t{value.has_value()} << column;
                block.values.push_back(value.value_or(0));
            }
            block.kinds.push_back(kinds);
        }
    } catch (...) {
        failure = std::current_exception();
    }
    block.isLast = block.kinds.size() < kBlockRows;
    return block;
}

/// The state that the threads share.
struct Table {
    std::filesystem::path file;
    std::string name;
    std::vector<std::string> columns;
    std::int64_t parts = 1;

    /// The row ids of a part. The first part also has negative ids, the last part those above the expected number of rows.
    std::int64_t firstOf(std::int64_t part) const
    {
        return part == 0 ? std::numeric_limits<std::int64_t>::min() : part * kPartIds;
    }
    std::int64_t lastOf(std::int64_t part) const
    {
        return part == parts - 1 ? std::numeric_limits<std::int64_t>::max() : (part + 1) * kPartIds - 1;
    }
};

/// Reads every kReaders-th part of a table on a thread of its own, through a connection of its own.
class PartReader {
public:
    PartReader(const Table& table, std::int64_t firstPart)
        : thread_([this, &table, firstPart] { read(table, firstPart); })
    {
    }
    ~PartReader()
    {
        blocks_.close();
        if (thread_.joinable())
            thread_.join();
    }
    PartReader(const PartReader&) = delete;
    PartReader& operator=(const PartReader&) = delete;

    /// The next block.
    /// \throws Error  the table is damaged
    IntegerBlock pop()
    {
        if (auto block = blocks_.pop())
            return std::move(*block);
        if (thread_.joinable())
            thread_.join();
        std::rethrow_exception(failure_);
    }

private:
    void read(const Table& table, std::int64_t firstPart)
    {
        try {
            const ForeignDatabase database(table.file);
            const std::vector<std::string_view> columns(table.columns.begin(), table.columns.end());
            ForeignDatabase::Rows rows = database.readWithin(table.name, columns);
            for (std::int64_t part = firstPart; part < table.parts && !failure_; part += kReaders) {
                rows.restart(table.firstOf(part), table.lastOf(part));
                for (bool isMore = true; isMore;) {
                    IntegerBlock block = nextBlock(rows, columns.size(), failure_);
                    block.isLast = block.isLast && !failure_;
                    isMore = !block.isLast && !failure_;
                    if (!blocks_.push(std::move(block)))
                        return;
                }
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
        blocks_.close();
    }

    BoundedQueue<IntegerBlock> blocks_{kMostBlocks};
    std::exception_ptr failure_; ///< read after the thread ended
    std::thread thread_;         // last, because it uses the other members
};

} // namespace

class ForeignIntegers::Impl {
public:
    Impl(const ForeignDatabase& database, std::string_view table,
         std::initializer_list<std::string_view> columns)
        : columns_(columns.size()), rows_(database.read(table, columns))
    {
        assert(columns_ <= kMostColumns);
        const std::int64_t rows = database.aboutRows(table);
        if (rows <= static_cast<std::int64_t>(kBlockRows) || !database.hasRowIds(table))
            return;
        table_ = {database.file(), std::string(table), {columns.begin(), columns.end()}, rows / kPartIds + 1};
        for (std::size_t i = 0; i < readers_.size(); ++i)
            readers_[i].emplace(table_, static_cast<std::int64_t>(i));
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    /// \return  whether there are more rows
    bool nextBlock()
    {
        if (readers_.front()) {
            while (part_ < table_.parts) {
                block_ = readers_[static_cast<std::size_t>(part_ % kReaders)]->pop();
                part_ += block_.isLast ? 1 : 0;
                if (!block_.kinds.empty())
                    return true;
            }
        } else if (!block_.isLast) {
            block_ = store::nextBlock(rows_, columns_, failure_);
            if (!block_.kinds.empty())
                return true;
        }
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        return false;
    }

    /// Forgets the rows of the last block.
    void end()
    {
        block_.values.clear();
        block_.kinds.clear();
    }

    std::size_t columns() const { return columns_; }
    const IntegerBlock& block() const { return block_; }

    std::size_t nextRow = 0; ///< of the block

private:
    const std::size_t columns_;
    ForeignDatabase::Rows rows_; ///< without threads
    std::exception_ptr failure_; ///< without threads
    IntegerBlock block_;
    Table table_;
    std::int64_t part_ = 0;                                   ///< of the next block
    std::array<std::optional<PartReader>, kReaders> readers_; // last: they use the table
};

ForeignIntegers::ForeignIntegers(const ForeignDatabase& database, std::string_view table,
                                 std::initializer_list<std::string_view> columns)
    : impl_(std::make_unique<Impl>(database, table, columns))
{
}

ForeignIntegers::~ForeignIntegers() = default;
ForeignIntegers::ForeignIntegers(ForeignIntegers&&) noexcept = default;

bool ForeignIntegers::next()
{
    if (impl_->nextRow == impl_->block().kinds.size()) {
        const bool isMore = impl_->nextBlock();
        impl_->nextRow = 0;
        if (!isMore) {
            impl_->end();
            return false;
        }
    }
    values_ = impl_->block().values.data() + impl_->nextRow * impl_->columns();
    kinds_ = impl_->block().kinds.data() + impl_->nextRow;
    ++impl_->nextRow;
    return true;
}

} // namespace tilescope::store
