#include "core/exchange/export/arrow_export.h"

#include "core/base/error.h"
#include "core/exchange/export/arrow_file.h"
#include "core/exchange/export/flat_builder.h"
#include "tests/unit/exchange/export_fixture.h"

#include <gmock/gmock.h>

#include <cstring>
#include <optional>
#include <sstream>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

template <class Number> Number numberAt(std::string_view bytes, std::size_t at)
{
    Number number{};
    EXPECT_LE(at + sizeof(Number), bytes.size());
    std::memcpy(&number, bytes.data() + at, sizeof(Number));
    return number;
}

/// A table of a FlatBuffer, read as the format's specification says.
class FlatTable {
public:
    static FlatTable root(std::string_view bytes) { return {bytes, numberAt<std::uint32_t>(bytes, 0)}; }

    template <class Number> Number number(std::uint16_t field) const
    {
        const std::size_t at = placeOf(field);
        EXPECT_EQ(at % sizeof(Number), 0U) << "numbers are aligned";
        return at == 0 ? Number{} : numberAt<Number>(bytes_, at);
    }
    FlatTable table(std::uint16_t field) const { return {bytes_, partOf(field)}; }
    std::string_view string(std::uint16_t field) const
    {
        const std::size_t at = partOf(field);
        return bytes_.substr(at + 4, numberAt<std::uint32_t>(bytes_, at));
    }
    std::size_t sizeOf(std::uint16_t field) const { return numberAt<std::uint32_t>(bytes_, partOf(field)); }
    FlatTable element(std::uint16_t field, std::size_t i) const
    {
        const std::size_t at = partOf(field) + 4 + 4 * i;
        return {bytes_, at + numberAt<std::uint32_t>(bytes_, at)};
    }
    /// The bytes of a vector of structs.
    std::string_view structs(std::uint16_t field, std::size_t size) const
    {
        const std::size_t at = partOf(field) + 4;
        EXPECT_EQ(at % 8, 0U);
        return bytes_.substr(at, size * sizeOf(field));
    }
    bool has(std::uint16_t field) const { return placeOf(field) != 0; }

private:
    FlatTable(std::string_view bytes, std::size_t at) : bytes_(bytes), at_(at) {}

    std::size_t placeOf(std::uint16_t field) const
    {
        const std::size_t vtable = at_ - static_cast<std::size_t>(numberAt<std::int32_t>(bytes_, at_));
        const std::size_t entry = 4 + 2 * std::size_t{field};
        if (entry >= numberAt<std::uint16_t>(bytes_, vtable))
            return 0;
        const auto offset = numberAt<std::uint16_t>(bytes_, vtable + entry);
        return offset == 0 ? 0 : at_ + offset;
    }
    std::size_t partOf(std::uint16_t field) const
    {
        const std::size_t at = placeOf(field);
        EXPECT_NE(at, 0U);
        return at + numberAt<std::uint32_t>(bytes_, at);
    }

    std::string_view bytes_;
    std::size_t at_;
};

/// An Arrow file as its footer describes it.
class ArrowReader {
public:
    explicit ArrowReader(std::string bytes) : bytes_(std::move(bytes))
    {
        EXPECT_TRUE(bytes_.starts_with(std::string_view("ARROW1\0\0", 8)));
        EXPECT_TRUE(bytes_.ends_with("ARROW1"));
        const auto length = numberAt<std::int32_t>(bytes_, bytes_.size() - 10);
        footer_ = std::string_view(bytes_).substr(bytes_.size() - 10 - static_cast<std::size_t>(length),
                                                  static_cast<std::size_t>(length));
        const FlatTable schema = footer().table(1);
        for (std::size_t i = 0; i < schema.sizeOf(1); ++i) {
            names.emplace_back(schema.element(1, i).string(0));
            isText.push_back(schema.element(1, i).has(4));
            widths.push_back(schema.element(1, i).number<std::uint8_t>(2) == 2
                                 ? schema.element(1, i).table(3).number<std::int32_t>(0)
                                 : 64);
        }
        dictionaries = footer().sizeOf(2);
        batches = footer().sizeOf(3);
    }

    std::vector<std::string> names;
    std::vector<bool> isText;
    std::vector<std::int32_t> widths;
    std::size_t dictionaries = 0;
    std::size_t batches = 0;

    std::string unitOf(std::string_view column) const
    {
        const FlatTable field = footer().table(1).element(1, indexOf(column));
        return field.has(6) ? std::string(field.element(6, 0).string(1)) : std::string();
    }

    /// The values of a column as text; "null" where there is none.
    std::vector<std::string> column(std::string_view name) const
    {
        const std::size_t index = indexOf(name);
        const std::vector<std::string> words =
            isText[index] ? dictionaryOf(index) : std::vector<std::string>{};
        std::vector<std::string> values;
        for (std::size_t batch = 0; batch < batches; ++batch) {
            const Message message = messageAt(3, batch);
            const FlatTable header = FlatTable::root(message.metadata).table(2);
            const auto rows = static_cast<std::size_t>(header.number<std::int64_t>(0));
            const std::string_view valid = bufferOf(message, header, 2 * index);
            const std::string_view data = bufferOf(message, header, 2 * index + 1);
            EXPECT_EQ(header.sizeOf(1), names.size());
            for (std::size_t row = 0; row < rows; ++row) {
                if (!valid.empty() && (valid[row / 8] >> row % 8 & 1) == 0)
                    values.emplace_back("null");
                else if (isText[index])
                    values.push_back(
                        words.at(static_cast<std::size_t>(numberAt<std::int32_t>(data, 4 * row))));
                else if (widths[index] == 32)
                    values.push_back(std::to_string(numberAt<std::int32_t>(data, 4 * row)));
                else
                    values.push_back(std::to_string(numberAt<std::int64_t>(data, 8 * row)));
            }
        }
        return values;
    }

private:
    struct Message {
        std::string_view metadata;
        std::string_view body;
    };

    FlatTable footer() const { return FlatTable::root(footer_); }

    std::size_t indexOf(std::string_view column) const
    {
        const auto found = std::ranges::find(names, column);
        EXPECT_NE(found, names.end()) << column;
        return static_cast<std::size_t>(found - names.begin());
    }

    Message messageAt(std::uint16_t list, std::size_t i) const
    {
        const std::string_view block = footer().structs(list, 24).substr(24 * i, 24);
        const auto offset = static_cast<std::size_t>(numberAt<std::int64_t>(block, 0));
        const auto length = static_cast<std::size_t>(numberAt<std::int32_t>(block, 8));
        const auto body = static_cast<std::size_t>(numberAt<std::int64_t>(block, 16));
        EXPECT_EQ(offset % 8, 0U);
        EXPECT_EQ(length % 8, 0U);
        EXPECT_EQ(numberAt<std::uint32_t>(bytes_, offset), 0xffff'ffffU);
        const std::string_view all(bytes_);
        const Message message{all.substr(offset + 8, length - 8), all.substr(offset + length, body)};
        EXPECT_EQ(FlatTable::root(message.metadata).number<std::int64_t>(3), static_cast<std::int64_t>(body));
        return message;
    }

    static std::string_view bufferOf(const Message& message, const FlatTable& batch, std::size_t i)
    {
        const std::string_view buffer = batch.structs(2, 16).substr(16 * i, 16);
        return message.body.substr(static_cast<std::size_t>(numberAt<std::int64_t>(buffer, 0)),
                                   static_cast<std::size_t>(numberAt<std::int64_t>(buffer, 8)));
    }

    std::vector<std::string> dictionaryOf(std::size_t column) const
    {
        std::vector<std::string> words;
        for (std::size_t i = 0; i < dictionaries; ++i) {
            const Message message = messageAt(2, i);
            const FlatTable header = FlatTable::root(message.metadata).table(2);
            if (header.number<std::int64_t>(0) != static_cast<std::int64_t>(column))
                continue;
            const FlatTable batch = header.table(1);
            const std::string_view offsets = bufferOf(message, batch, 1);
            const std::string_view text = bufferOf(message, batch, 2);
            for (std::size_t word = 0; 8 * (word + 1) < offsets.size(); ++word) {
                const auto from = static_cast<std::size_t>(numberAt<std::int64_t>(offsets, 8 * word));
                const auto to = static_cast<std::size_t>(numberAt<std::int64_t>(offsets, 8 * word + 8));
                words.emplace_back(text.substr(from, to - from));
            }
        }
        return words;
    }

    std::string bytes_;
    std::string_view footer_;
};

TEST(FlatBuilder, BuildsTablesThatTheSpecificationReads)
{
    FlatBuilder flat;
    const FlatBuilder::Offset text = flat.string("quoted \"text\"");
    flat.beginTable();
    flat.add(0, std::int16_t{-3});
    const FlatBuilder::Offset inner = flat.endTable();
    const FlatBuilder::Offset list = flat.vector({&inner, 1});
    flat.beginTable();
    flat.add(0, true);
    flat.add(2, std::int64_t{-1'234'567'890'123});
    flat.add(3, text);
    flat.add(5, list);
    const std::string bytes = flat.finish(flat.endTable());
    EXPECT_EQ(bytes.size() % 8, 0U);
    const FlatTable root = FlatTable::root(bytes);
    EXPECT_EQ(root.number<std::uint8_t>(0), 1);
    EXPECT_FALSE(root.has(1));
    EXPECT_EQ(root.number<std::int64_t>(2), -1'234'567'890'123);
    EXPECT_EQ(root.string(3), "quoted \"text\"");
    EXPECT_EQ(root.sizeOf(5), 1U);
    EXPECT_EQ(root.element(5, 0).number<std::int16_t>(0), -3);
    EXPECT_FALSE(root.has(9));
}

TEST(ArrowFile, SplitsRowsIntoBatchesAndSharesTexts)
{
    constexpr int kRows = 70'000;
    std::ostringstream out;
    ArrowFile file(out,
                   {{.name = "n", .type = ArrowType::Int32},
                    {.name = "t", .type = ArrowType::Int64, .unit = "ns"},
                    {.name = "s", .type = ArrowType::Text}},
                   {});
    const auto fill = [&] {
        for (int i = 0; i < kRows; ++i) {
            file.add(i);
            if (i % 3 == 0)
                file.null();
            else
                file.add(std::int64_t{i} << 33);
            file.add(i % 2 == 0 ? "even" : kHostileNameWritten).endRow();
        }
    };
    fill();
    file.beginRows();
    fill();
    file.finish();
    EXPECT_EQ(file.rows(), kRows);
    const ArrowReader reader(out.str());
    EXPECT_EQ(reader.batches, 2U);
    EXPECT_EQ(reader.dictionaries, 1U);
    EXPECT_EQ(reader.unitOf("t"), "ns");
    const auto n = reader.column("n");
    const auto t = reader.column("t");
    const auto s = reader.column("s");
    ASSERT_EQ(n.size(), static_cast<std::size_t>(kRows));
    for (int i = 0; i < kRows; i += 1111) {
        const auto row = static_cast<std::size_t>(i);
        EXPECT_EQ(n[row], std::to_string(i));
        EXPECT_EQ(t[row], i % 3 == 0 ? "null" : std::to_string(std::int64_t{i} << 33));
        EXPECT_EQ(s[row], i % 2 == 0 ? "even" : kHostileNameWritten);
    }
}

class ArrowExporting : public Exporting {
protected:
    std::map<std::string, std::int64_t> exported(const fs::path& file, const ExportOptions& options = {})
    {
        const store::RunReader reader(file);
        const auto tables = writeArrow(folder / "tables", reader, runOf(reader), options);
        return {tables.begin(), tables.end()};
    }
    ArrowReader table(const std::string& name) const
    {
        return ArrowReader(textOf(folder / "tables" / (name + ".arrow")));
    }
};

TEST_F(ArrowExporting, WritesEveryTable)
{
    const fs::path file = twoRanks();
    const auto tables = exported(file);
    const store::EventCounts counts = store::RunReader(file).counts(RunId{1});
    EXPECT_EQ(tables.at("kernels"), 2);
    EXPECT_EQ(tables.at("copies"), 2);
    EXPECT_EQ(tables.at("ranges"), counts.ranges);
    EXPECT_EQ(tables.at("ops"), counts.ops);
    EXPECT_EQ(tables.at("api_calls"), counts.apiCalls);
    EXPECT_EQ(tables.at("frames"), counts.frames);
    EXPECT_EQ(tables.at("allocations"), counts.allocEvents);
    EXPECT_EQ(tables.at("collectives"), 2);
    EXPECT_EQ(tables.at("waits"), 2);
    EXPECT_EQ(tables.at("processes"), 2);
    EXPECT_EQ(tables.at("samples"), 1);
    EXPECT_EQ(tables.at("losses"), 0);
    const ArrowReader kernels = table("kernels");
    EXPECT_THAT(kernels.column("name"), ElementsAre(kHostileNameWritten, kHostileNameWritten));
    EXPECT_THAT(kernels.column("grid_x"), ElementsAre("3", "3"));
    EXPECT_THAT(kernels.column("step"), ElementsAre("3", "3"));
    EXPECT_THAT(kernels.column("graph_node"), ElementsAre("null", "null"));
    EXPECT_EQ(kernels.unitOf("dynamic_shared"), "B");
    EXPECT_THAT(table("copies").column("direction"), ElementsAre("host_to_device", "host_to_device"));
    EXPECT_TRUE(table("losses").column("kind").empty());
    EXPECT_THAT(table("processes").column("rank"), ElementsAre("0", "1"));
}

TEST_F(ArrowExporting, LeavesOutWhoRecorded)
{
    const fs::path file = twoRanks();
    exported(file);
    EXPECT_THAT(table("processes").names, Not(::testing::Contains("host")));
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / "tables")) {
        EXPECT_THAT(textOf(entry.path()), Not(HasSubstr("secret-host"))) << entry.path();
        EXPECT_THAT(textOf(entry.path()), Not(HasSubstr("ada/"))) << entry.path();
    }
    exported(file, {.withIdentity = true});
    EXPECT_THAT(table("processes").column("host"), ElementsAre("secret-host", "secret-host"));
    EXPECT_EQ(table("frames").column("name").at(0), kHomeName);
}

} // namespace
} // namespace tilescope::exchange
