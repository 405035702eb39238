#include "core/exchange/export/arrow_file.h"

#include "core/exchange/export/flat_builder.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <utility>

namespace tilescope::exchange {

namespace {

// Numbers of the format (Message.fbs, Schema.fbs, File.fbs).
constexpr std::string_view kMagic = "ARROW1";
constexpr std::int16_t kVersion5 = 4;
constexpr std::uint32_t kContinuation = 0xffff'ffff;
constexpr std::uint8_t kSchemaHeader = 1;
constexpr std::uint8_t kDictionaryHeader = 2;
constexpr std::uint8_t kBatchHeader = 3;
constexpr std::uint8_t kIntType = 2;
constexpr std::uint8_t kLargeTextType = 20;
constexpr std::size_t kAlignment = 8;

using Offset = FlatBuilder::Offset;

template <class Number> void appendLittle(std::string& bytes, Number number)
{
    static_assert(std::endian::native == std::endian::little);
    char raw[sizeof(Number)];
    std::memcpy(raw, &number, sizeof(Number));
    bytes.append(raw, sizeof(Number));
}

void pad(std::string& bytes)
{
    bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
}

Offset intType(FlatBuilder& flat, std::int32_t bits, bool isSigned)
{
    flat.beginTable();
    flat.add(0, bits);
    flat.add(1, isSigned);
    return flat.endTable();
}

/// A column's description in the schema.
Offset fieldOf(FlatBuilder& flat, const ArrowColumn& column, std::int64_t dictionary)
{
    constexpr std::int32_t kWide = 64;
    constexpr std::int32_t kNarrow = 32;
    const bool isText = column.type == ArrowType::Text;
    const Offset name = flat.string(column.name);
    Offset metadata;
    if (!column.unit.empty()) {
        const Offset key = flat.string("unit");
        const Offset value = flat.string(column.unit);
        flat.beginTable();
        flat.add(0, key);
        flat.add(1, value);
        const Offset entry = flat.endTable();
        metadata = flat.vector({&entry, 1});
    }
    Offset encoding;
    if (isText) {
        const Offset index = intType(flat, kNarrow, true);
        flat.beginTable();
        flat.add(0, dictionary);
        flat.add(1, index);
        encoding = flat.endTable();
    }
    Offset type;
    if (isText) {
        flat.beginTable();
        type = flat.endTable();
    } else {
        type = intType(flat, column.type == ArrowType::Int32 ? kNarrow : kWide,
                       column.type != ArrowType::UInt64);
    }
    const Offset children = flat.vector({});
    flat.beginTable();
    flat.add(0, name);
    flat.add(1, true); // nullable
    flat.add(2, isText ? kLargeTextType : kIntType);
    flat.add(3, type);
    if (isText)
        flat.add(4, encoding);
    flat.add(5, children);
    if (!column.unit.empty())
        flat.add(6, metadata);
    return flat.endTable();
}

Offset schemaOf(FlatBuilder& flat, const std::vector<ArrowColumn>& columns)
{
    std::vector<Offset> fields;
    for (std::size_t i = 0; i < columns.size(); ++i)
        fields.push_back(fieldOf(flat, columns[i], static_cast<std::int64_t>(i)));
    const Offset list = flat.vector(fields);
    flat.beginTable();
    flat.add(0, std::int16_t{0}); // little-endian
    flat.add(1, list);
    return flat.endTable();
}

/// The buffers of a record batch, one after the other.
class Body {
public:
    void add(std::string_view bytes)
    {
        appendLittle(buffers_, static_cast<std::int64_t>(bytes_.size()));
        appendLittle(buffers_, static_cast<std::int64_t>(bytes.size()));
        ++count_;
        bytes_ += bytes;
        pad(bytes_);
    }
    void addNode(std::int64_t length, std::int64_t nulls)
    {
        appendLittle(nodes_, length);
        appendLittle(nodes_, nulls);
        ++nodeCount_;
    }
    Offset batch(FlatBuilder& flat, std::int64_t rows) const
    {
        const Offset nodes = flat.structs(nodes_, nodeCount_);
        const Offset buffers = flat.structs(buffers_, count_);
        flat.beginTable();
        flat.add(0, rows);
        flat.add(1, nodes);
        flat.add(2, buffers);
        return flat.endTable();
    }
    const std::string& bytes() const { return bytes_; }

private:
    std::string bytes_;
    std::string buffers_;
    std::string nodes_;
    std::size_t count_ = 0;
    std::size_t nodeCount_ = 0;
};

std::string messageOf(FlatBuilder& flat, std::uint8_t kind, Offset header, std::size_t bodyLength)
{
    flat.beginTable();
    flat.add(0, kVersion5);
    flat.add(1, kind);
    flat.add(2, header);
    flat.add(3, static_cast<std::int64_t>(bodyLength));
    return flat.finish(flat.endTable());
}

} // namespace

ArrowFile::ArrowFile(std::ostream& out, std::vector<ArrowColumn> columns,
                     std::function<std::string(StringId)> text)
    : out_(out), text_(std::move(text))
{
    for (ArrowColumn& column : columns)
        columns_.push_back({.column = std::move(column)});
}

template <class Number> void ArrowFile::append(Values& values, Number number)
{
    if (!isWriting_)
        return;
    appendLittle(values.bytes, number);
    values.valid.push_back(true);
}

ArrowFile& ArrowFile::add(std::int64_t value)
{
    Values& values = next();
    assert(values.column.type != ArrowType::Text);
    if (values.column.type == ArrowType::Int32)
        append(values, static_cast<std::int32_t>(value));
    else
        append(values, value);
    return *this;
}

std::int32_t ArrowFile::placeOf(Values& values, std::string_view text)
{
    const auto [found, isNew] =
        values.places.try_emplace(std::string(text), static_cast<std::int32_t>(values.texts.size()));
    if (isNew)
        values.texts.push_back(&found->first);
    return found->second;
}

ArrowFile& ArrowFile::add(std::string_view text)
{
    Values& values = next();
    assert(values.column.type == ArrowType::Text);
    append(values, placeOf(values, text));
    return *this;
}

ArrowFile& ArrowFile::add(StringId text)
{
    if (!text)
        return null();
    Values& values = next();
    assert(values.column.type == ArrowType::Text);
    if (text.value >= values.placesOfIds.size())
        values.placesOfIds.resize(std::size_t{text.value} + 1, -1);
    std::int32_t& place = values.placesOfIds[text.value];
    if (place < 0)
        place = placeOf(values, text_(text));
    append(values, place);
    return *this;
}

ArrowFile& ArrowFile::null()
{
    Values& values = next();
    if (!isWriting_)
        return *this;
    const bool isNarrow = values.column.type == ArrowType::Int32 || values.column.type == ArrowType::Text;
    values.bytes.append(isNarrow ? sizeof(std::int32_t) : sizeof(std::int64_t), '\0');
    values.valid.push_back(false);
    ++values.nulls;
    return *this;
}

void ArrowFile::endRow()
{
    assert(at_ == columns_.size());
    at_ = 0;
    if (!isWriting_)
        return;
    ++allRows_;
    if (++rows_ == kRowsOfBatch)
        writeBatch();
}

void ArrowFile::write(std::string_view bytes)
{
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    written_ += static_cast<std::int64_t>(bytes.size());
}

ArrowFile::Block ArrowFile::writeMessage(std::string_view metadata, std::string_view body)
{
    std::string head;
    appendLittle(head, kContinuation);
    appendLittle(head, static_cast<std::int32_t>(metadata.size()));
    const Block block{.offset = written_,
                      .metadata = static_cast<std::int32_t>(head.size() + metadata.size()),
                      .body = static_cast<std::int64_t>(body.size())};
    write(head);
    write(metadata);
    write(body);
    return block;
}

void ArrowFile::beginRows()
{
    std::string magic(kMagic);
    pad(magic);
    write(magic);
    std::vector<ArrowColumn> columns;
    for (const Values& values : columns_)
        columns.push_back(values.column);
    FlatBuilder flat;
    const Offset schema = schemaOf(flat, columns);
    writeMessage(messageOf(flat, kSchemaHeader, schema, 0), {});
    writeDictionaries();
    isWriting_ = true;
}

void ArrowFile::writeDictionaries()
{
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Values& values = columns_[i];
        if (values.column.type != ArrowType::Text)
            continue;
        std::string offsets;
        std::string text;
        appendLittle(offsets, std::int64_t{0});
        for (const std::string* each : values.texts) {
            text += *each;
            appendLittle(offsets, static_cast<std::int64_t>(text.size()));
        }
        Body body;
        const auto count = static_cast<std::int64_t>(values.texts.size());
        body.addNode(count, 0);
        body.add({});
        body.add(offsets);
        body.add(text);
        FlatBuilder flat;
        const Offset batch = body.batch(flat, count);
        flat.beginTable();
        flat.add(0, static_cast<std::int64_t>(i));
        flat.add(1, batch);
        const Offset header = flat.endTable();
        dictionaries_.push_back(
            writeMessage(messageOf(flat, kDictionaryHeader, header, body.bytes().size()), body.bytes()));
    }
}

void ArrowFile::writeBatch()
{
    Body body;
    for (Values& values : columns_) {
        body.addNode(static_cast<std::int64_t>(rows_), values.nulls);
        std::string bits;
        if (values.nulls > 0) {
            constexpr std::size_t kByte = 8;
            bits.resize((rows_ + kByte - 1) / kByte);
            for (std::size_t row = 0; row < rows_; ++row)
                if (values.valid[row])
                    bits[row / kByte] = static_cast<char>(bits[row / kByte] | 1 << row % kByte);
        }
        body.add(bits);
        body.add(values.bytes);
        values.bytes.clear();
        values.valid.clear();
        values.nulls = 0;
    }
    FlatBuilder flat;
    const Offset batch = body.batch(flat, static_cast<std::int64_t>(rows_));
    batches_.push_back(writeMessage(messageOf(flat, kBatchHeader, batch, body.bytes().size()), body.bytes()));
    rows_ = 0;
}

void ArrowFile::finish()
{
    if (rows_ > 0)
        writeBatch();
    std::string end;
    appendLittle(end, kContinuation);
    appendLittle(end, std::int32_t{0});
    write(end);

    std::vector<ArrowColumn> columns;
    for (const Values& values : columns_)
        columns.push_back(values.column);
    const auto blocks = [](const std::vector<Block>& list) {
        std::string bytes;
        for (const Block& block : list) {
            appendLittle(bytes, block.offset);
            appendLittle(bytes, block.metadata);
            appendLittle(bytes, std::int32_t{0});
            appendLittle(bytes, block.body);
        }
        return bytes;
    };
    FlatBuilder flat;
    const Offset schema = schemaOf(flat, columns);
    const Offset dictionaries = flat.structs(blocks(dictionaries_), dictionaries_.size());
    const Offset batches = flat.structs(blocks(batches_), batches_.size());
    flat.beginTable();
    flat.add(0, kVersion5);
    flat.add(1, schema);
    flat.add(2, dictionaries);
    flat.add(3, batches);
    const std::string footer = flat.finish(flat.endTable());
    write(footer);
    std::string tail;
    appendLittle(tail, static_cast<std::int32_t>(footer.size()));
    tail += kMagic;
    write(tail);
}

} // namespace tilescope::exchange
