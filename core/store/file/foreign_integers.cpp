#include "core/store/file/foreign_integers.h"

#include "core/base/bounded_queue.h"
#include "core/store/file/foreign_database.h"

#include <cassert>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tilescope::store {

namespace {

/// Rows that are read together. Tables of fewer are not worth a thread.
constexpr std::size_t kBlockRows = 4096;
constexpr std::size_t kMostBlocks = 3;

struct IntegerBlock {
    std::vector<std::int64_t> values; ///< by row, then by column; 0 where there is no integer
    std::vector<std::uint64_t> kinds; ///< by row: a bit for each column
};

/// The next rows of a table.
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
    return block;
}

} // namespace

class ForeignIntegers::Impl {
public:
    Impl(const ForeignDatabase& database, std::string_view table,
         std::initializer_list<std::string_view> columns)
        : columns_(columns.size()), rows_(database.read(table, columns))
    {
        assert(columns_ <= kMostColumns);
        if (database.aboutRows(table) <= static_cast<std::int64_t>(kBlockRows))
            return;
        thread_ = std::thread([this, file = database.file(), name = std::string(table),
                               wanted = std::vector<std::string>(columns.begin(), columns.end())] {
            readAhead(file, name, std::vector<std::string_view>(wanted.begin(), wanted.end()));
        });
    }
    ~Impl()
    {
        blocks_.close();
        if (thread_.joinable())
            thread_.join();
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    /// \return  whether there are more rows
    bool nextBlock()
    {
        if (thread_.joinable()) {
            if (auto block = blocks_.pop()) {
                block_ = std::move(*block);
                return true;
            }
            thread_.join();
            isAtEnd_ = true;
        } else if (!isAtEnd_) {
            block_ = store::nextBlock(rows_, columns_, failure_);
            isAtEnd_ = block_.kinds.size() < kBlockRows;
            if (!block_.kinds.empty())
                return true;
        }
        if (failure_)
            std::rethrow_exception(std::exchange(failure_, nullptr));
        return false;
    }

    /// Forgets the last block, so that no further row is found in it.
    void end() { block_ = {}; }

    std::size_t columns() const { return columns_; }
    const IntegerBlock& block() const { return block_; }

    std::size_t nextRow = 0; ///< of the block

private:
    void readAhead(const std::filesystem::path& file, const std::string& table,
                   const std::vector<std::string_view>& columns)
    {
        try {
            const ForeignDatabase database(file);
            ForeignDatabase::Rows rows = database.read(table, columns);
            for (bool isMore = true; isMore && !failure_;) {
                IntegerBlock block = store::nextBlock(rows, columns.size(), failure_);
                isMore = block.kinds.size() == kBlockRows;
                if (!block.kinds.empty() && !blocks_.push(std::move(block)))
                    break;
            }
        } catch (...) {
            failure_ = std::current_exception();
        }
        blocks_.close();
    }

    const std::size_t columns_;
    ForeignDatabase::Rows rows_; ///< without the thread
    bool isAtEnd_ = false;
    IntegerBlock block_;
    BoundedQueue<IntegerBlock> blocks_{kMostBlocks};
    std::exception_ptr failure_; ///< of the thread; read after it ended
    std::thread thread_;         // last: it uses the others
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
