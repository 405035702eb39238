#include "core/store/rows/table_pages.h"

#include "core/base/error.h"
#include "core/store/file/database.h"
#include "core/store/rows/row_digest.h"

#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tilescope::store {

namespace {

constexpr std::uint8_t kInterior = 0x05;
constexpr std::uint8_t kLeaf = 0x0D;
constexpr std::size_t kDeepest = 20; // as in SQLite
constexpr std::size_t kInteriorHeader = 12;
constexpr std::size_t kLeafHeader = 8;
constexpr std::size_t kBlockBytes = 131'072;
/// Behind each page: what a row or a number that is cut off may be read beyond it, before that is noticed.
constexpr std::size_t kPadding = 256;

template <class Number> Number numberAt(const std::uint8_t* bytes)
{
    Number value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i)
        value = static_cast<Number>(value << 8 | bytes[i]);
    return value;
}

/// Eight bytes at once: most of a row's cost are its values.
std::uint64_t wordAt(const std::uint8_t* bytes)
{
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

/// A number of one to nine bytes with seven bits each, of the ninth all eight.
std::uint64_t variableNumber(const std::uint8_t*& bytes)
{
    constexpr int kBeforeLast = 8;
    std::uint64_t value = 0;
    for (int i = 0; i < kBeforeLast; ++i) {
        const std::uint8_t byte = *bytes++;
        value = value << 7 | (byte & 0x7F);
        if (byte < 0x80)
            return value;
    }
    return value << 8 | *bytes++;
}

/// Bytes of a value by its serial type; types from 10 on are no integers.
constexpr std::array<std::uint8_t, 10> kBytesOf{0, 1, 2, 3, 4, 6, 8, 0, 0, 0};
constexpr std::uint8_t kReal = 7;
constexpr std::uint8_t kZero = 8;
constexpr std::uint8_t kOne = 9;

} // namespace

std::optional<TablePages> TablePages::of(sqlite3* database, std::string_view table, std::size_t columns)
{
    sqlite3_file* file = nullptr;
    check(database, sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file));
    // The first page tells the sizes, and whether there is a write-ahead log.
    std::array<std::uint8_t, 24> header{};
    if (!file || !file->pMethods ||
        file->pMethods->xRead(file, header.data(), static_cast<int>(header.size()), 0) != SQLITE_OK)
        return {};
    constexpr std::uint8_t kRollbackJournal = 1;
    if (header[18] != kRollbackJournal || header[19] != kRollbackJournal)
        return {};
    const auto size = numberAt<std::uint16_t>(&header[16]);
    const std::size_t pageBytes = size == 1 ? 65'536 : size;
    constexpr std::size_t kSmallest = 512;
    if (pageBytes < kSmallest || !std::has_single_bit(pageBytes))
        return {};
    sqlite3_stmt* query = nullptr;
    check(database, sqlite3_prepare_v2(
                        database, "select rootpage from main.sqlite_schema where type = 'table' and name = ?",
                        -1, &query, nullptr));
    sqlite3_bind_text(query, 1, table.data(), static_cast<int>(table.size()), SQLITE_STATIC);
    const std::int64_t root = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int64(query, 0) : 0;
    check(database, sqlite3_finalize(query));
    if (root < 2)
        return {};
    sqlite3_int64 fileBytes = 0;
    if (file->pMethods->xFileSize(file, &fileBytes) != SQLITE_OK)
        return {};
    TablePages pages(file, table, columns, root, pageBytes, pageBytes - header[20]);
    pages.filePages_ = fileBytes / static_cast<std::int64_t>(pageBytes);
    return pages;
}

TablePages::TablePages(sqlite3_file* file, std::string_view table, std::size_t columns, std::int64_t root,
                       std::size_t pageBytes, std::size_t usableBytes)
    : file_(file), table_(table), columns_(columns), root_(root), pageBytes_(pageBytes),
      usableBytes_(usableBytes)
{
}

void TablePages::refuse() const
{
    throw Error{.what = "the file is damaged: the table " + table_ + " is not as it was written",
                .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
}

bool TablePages::read(std::uint8_t* bytes, std::size_t pages, std::int64_t number) const
{
    return file_->pMethods->xRead(file_, bytes, static_cast<int>(pages * pageBytes_),
                                  (number - 1) * static_cast<std::int64_t>(pageBytes_)) == SQLITE_OK;
}

/// A page of the block. Reads the next block if pages seem to be read in sequence, as the leaves of a table
/// mostly are: one call per page would take a sixth of the time of an answer.
/// \return  nullptr if the page must be read individually
const std::uint8_t* TablePages::readAhead(std::int64_t number)
{
    const bool isInBlock = number >= blockFirst_ && number < blockEnd_;
    if (!isInBlock) {
        if (number != lastLeaf_ + 1)
            return nullptr;
        const auto pages =
            std::min(static_cast<std::int64_t>(kBlockBytes / pageBytes_), filePages_ - number + 1);
        blockFirst_ = blockEnd_ = 0;
        if (pages < 1)
            return nullptr;
        block_.resize(static_cast<std::size_t>(pages) * pageBytes_ + kPadding);
        if (!read(block_.data(), static_cast<std::size_t>(pages), number))
            return nullptr;
        blockFirst_ = number;
        blockEnd_ = number + pages;
    }
    return block_.data() + static_cast<std::size_t>(number - blockFirst_) * pageBytes_;
}

/// Reads a page as the one at `depth` of the open path.
void TablePages::open(std::size_t depth, std::int64_t number)
{
    if (depth == kDeepest || number < 2)
        refuse();
    if (pages_.size() == depth)
        pages_.emplace_back().own.resize(pageBytes_ + kPadding);
    depth_ = depth;
    Page& page = pages_[depth];
    page.bytes = readAhead(number);
    if (!page.bytes || page.bytes[0] != kLeaf) {
        // The block is replaced while inner pages are still open.
        if (page.bytes)
            std::copy_n(page.bytes, pageBytes_, page.own.data());
        else if (!read(page.own.data(), 1, number))
            refuse();
        page.bytes = page.own.data();
    }
    page.isLeaf = page.bytes[0] == kLeaf;
    if (page.isLeaf)
        lastLeaf_ = number;
    if (!page.isLeaf && page.bytes[0] != kInterior)
        refuse();
    page.cells = numberAt<std::uint16_t>(&page.bytes[3]);
    page.at = 0;
    if ((page.isLeaf ? kLeafHeader : kInteriorHeader) + 2 * page.cells > usableBytes_)
        refuse();
    // Every leaf has a row, so each page is opened once at most.
    if (page.isLeaf && page.cells == 0 && depth > 0)
        refuse();
}

std::size_t TablePages::cellOf(const Page& page, std::size_t index) const
{
    const std::size_t header = page.isLeaf ? kLeafHeader : kInteriorHeader;
    const std::size_t cell = numberAt<std::uint16_t>(&page.bytes[header + 2 * index]);
    if (cell >= usableBytes_)
        refuse();
    return cell;
}

/// Of a leaf the id of a row, otherwise the highest id under a child.
std::int64_t TablePages::keyOf(const Page& page, std::size_t index) const
{
    const std::uint8_t* bytes = &page.bytes[cellOf(page, index)];
    if (page.isLeaf)
        variableNumber(bytes); // length of the row
    else
        bytes += 4; // the child
    return static_cast<std::int64_t>(variableNumber(bytes));
}

std::int64_t TablePages::childOf(const Page& page) const
{
    constexpr std::size_t kLastChild = 8;
    return numberAt<std::uint32_t>(&page.bytes[page.at < page.cells ? cellOf(page, page.at) : kLastChild]);
}

void TablePages::seek(std::int64_t first)
{
    previous_.reset();
    open(0, root_);
    while (true) {
        Page& page = pages_[depth_];
        std::size_t from = 0;
        for (std::size_t to = page.cells; from < to;) {
            const std::size_t middle = (from + to) / 2;
            if (keyOf(page, middle) < first)
                from = middle + 1;
            else
                to = middle;
        }
        page.at = from;
        if (page.isLeaf)
            return;
        open(depth_ + 1, childOf(page));
    }
}

/// Opens the leaf behind the open one; false if that is the last.
bool TablePages::toNextLeaf()
{
    do {
        if (depth_ == 0)
            return false;
        --depth_;
    } while (++pages_[depth_].at > pages_[depth_].cells);
    while (!pages_[depth_].isLeaf)
        open(depth_ + 1, childOf(pages_[depth_]));
    return true;
}

bool TablePages::next(std::int64_t last, std::int64_t* row)
{
    if (pages_[depth_].at == pages_[depth_].cells && !toNextLeaf())
        return false;
    Page& page = pages_[depth_];
    const std::uint8_t* const end = page.bytes + usableBytes_;
    const std::uint8_t* cell = &page.bytes[cellOf(page, page.at)];
    const std::uint64_t bytes = variableNumber(cell);
    const auto id = static_cast<std::int64_t>(variableNumber(cell));
    if (previous_ && id <= *previous_)
        refuse();
    if (id > last)
        return false;
    // No row is so long that its end is on another page.
    if (cell >= end || bytes > static_cast<std::uint64_t>(end - cell))
        refuse();
    readValues(cell, bytes, id, row);
    previous_ = id;
    ++page.at;
    return true;
}

/// \param payload  the types of the values, then the values; at least kPadding bytes may be read from here
void TablePages::readValues(const std::uint8_t* payload, std::uint64_t bytes, std::int64_t id,
                            std::int64_t* row) const
{
    const std::size_t header = payload[0]; // its own length and one byte a value
    if (header < 2 || header > columns_ + 1)
        refuse();
    const std::uint8_t* value = payload + header;
    row[0] = id; // its place in the row is null
    for (std::size_t column = 1; column + 1 < header; ++column) {
        const std::uint8_t type = payload[column + 1];
        if (type > kOne || type == kReal)
            refuse();
        const std::size_t length = kBytesOf[type];
        if (length > 0) {
            row[column] = static_cast<std::int64_t>(wordAt(value)) >> (8 * (sizeof(std::uint64_t) - length));
            value += length;
        } else {
            row[column] = type == kOne ? 1 : type == kZero ? 0 : kNull;
        }
    }
    // Columns that a row does not have are null.
    std::fill(row + header - 1, row + columns_, kNull);
    if (static_cast<std::uint64_t>(value - payload) > bytes)
        refuse();
}

} // namespace tilescope::store
