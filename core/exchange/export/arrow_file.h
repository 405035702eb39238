#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

enum class ArrowType : std::uint8_t { Int32, Int64, UInt64, Text };

struct ArrowColumn {
    std::string name;
    ArrowType type = ArrowType::Int64;
    std::string unit = {}; ///< ns, B; stored as the column's metadata `unit`
};

/// Writes one table as an Arrow IPC file (Feather version 2), uncompressed.
///
/// Texts are dictionary-encoded, and the dictionary precedes the rows. Therefore pass all rows twice: once to
/// collect the texts and, after beginRows(), again to write them. Make the same calls in the same order both
/// times: for each row, one call per column, then endRow(). Memory: the distinct texts and 65,536 rows.
/// One thread.
class ArrowFile {
public:
    /// \param text  returns the text to write for an id
    ArrowFile(std::ostream& out, std::vector<ArrowColumn> columns, std::function<std::string(StringId)> text);

    // Adds the value of the next column. It must have the column's type; only columns of type Text accept texts.
    ArrowFile& add(std::int64_t value);
    ArrowFile& add(std::string_view text);
    ArrowFile& add(const std::string& text) { return add(std::string_view(text)); }
    ArrowFile& add(const char* text) { return add(std::string_view(text)); }
    /// Null for none.
    ArrowFile& add(StringId text);
    ArrowFile& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
    ArrowFile& add(std::int32_t value) { return add(std::int64_t{value}); }
    ArrowFile& add(std::uint32_t value) { return add(std::int64_t{value}); }
    ArrowFile& null();
    /// Ids, null for none.
    template <class Tag, class Rep, Rep None> ArrowFile& add(Id<Tag, Rep, None> id)
    {
        return id ? add(static_cast<std::int64_t>(id.value)) : null();
    }
    void endRow();

    void beginRows();
    void finish();

    std::int64_t rows() const { return allRows_; }

private:
    static constexpr std::size_t kRowsOfBatch = 65'536;

    struct Values {
        ArrowColumn column;
        std::string bytes = {}; ///< little-endian
        std::vector<bool> valid = {};
        std::int64_t nulls = 0;
        std::unordered_map<std::string, std::int32_t> places = {}; ///< of a dictionary
        std::vector<const std::string*> texts = {};
        std::vector<std::int32_t> placesOfIds = {}; ///< by StringId; -1: not seen yet
    };
    struct Block {
        std::int64_t offset = 0;
        std::int32_t metadata = 0;
        std::int64_t body = 0;
    };

    Values& next() { return columns_[at_++]; }
    template <class Number> void append(Values& values, Number number);
    std::int32_t placeOf(Values& values, std::string_view text);
    void writeBatch();
    void writeDictionaries();
    Block writeMessage(std::string_view metadata, std::string_view body);
    void write(std::string_view bytes);

    std::ostream& out_;
    std::function<std::string(StringId)> text_;
    std::vector<Values> columns_;
    std::size_t at_ = 0;
    std::size_t rows_ = 0; ///< of the current batch
    std::int64_t allRows_ = 0;
    bool isWriting_ = false;
    std::int64_t written_ = 0;
    std::vector<Block> dictionaries_;
    std::vector<Block> batches_;
};

} // namespace tilescope::exchange
