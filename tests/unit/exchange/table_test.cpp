#include "core/exchange/tables/table.h"

#include "core/exchange/tables/number.h"
#include "core/exchange/tables/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace tilescope::exchange {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <class T> Column column(std::string key, std::vector<T> cells, Unit unit = Unit::None)
{
    return {.key = key,
            .title = key,
            .cell = [cells](std::size_t row) { return Cell(cells[row]); },
            .unit = unit};
}

std::string terminal(const Table& table, const TerminalStyle& style = {})
{
    std::ostringstream out;
    writeTerminal(out, table, style);
    return out.str();
}

std::vector<std::string> splitLines(const std::string& text)
{
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

/// Two kernels with long names, three columns of numbers.
Table kernels()
{
    Table table{.rows = 2};
    Column name = column<std::string>("name", {"a_kernel_with_a_long_name_that_goes_on_and_on", "short"});
    name.elidable = true;
    name.keep = 2;
    Column least = column<std::int64_t>("steps", {3, 3});
    least.keep = 0;
    table.columns = {name, column<std::int64_t>("total", {1'234'567, 89'000}, Unit::Nanoseconds), least};
    return table;
}

} // namespace

TEST(Scale, ShowsThreeSignificantDigitsInOneUnit)
{
    const Scale milliseconds = scaleFor(Unit::Nanoseconds, 12'345'678);
    EXPECT_EQ(milliseconds.suffix, "ms");
    EXPECT_EQ(milliseconds.text(12'345'678.0), "12.3");
    EXPECT_EQ(milliseconds.text(9'996'000.0), "10.0");
    EXPECT_EQ(milliseconds.text(1'234.0), "0.001");
    EXPECT_EQ(milliseconds.text(123'456'789.0), "123");
    EXPECT_EQ(milliseconds.text(0.0), "0");
    EXPECT_EQ(milliseconds.text(-12'345'678.0), "-12.3");
    EXPECT_EQ(scaleFor(Unit::Nanoseconds, 999).suffix, "ns");
    EXPECT_EQ(scaleFor(Unit::Nanoseconds, 999'600).suffix, "ms");
    EXPECT_EQ(scaleFor(Unit::Milliseconds, 0.5).suffix, "µs");
    EXPECT_EQ(scaleFor(Unit::Milliseconds, 0.5).text(0.5), "500");
    EXPECT_EQ(scaleFor(Unit::Bytes, 1000).suffix, "B");
    EXPECT_EQ(scaleFor(Unit::Bytes, 5.5 * 1024 * 1024).text(std::int64_t{5'767'168}), "5.50");
    EXPECT_EQ(Scale{}.text(std::int64_t{1'234'567}), "1,234,567");
    EXPECT_EQ(Scale{}.text(std::int64_t{-1'000}), "-1,000");
    EXPECT_EQ(Scale{}.text(std::int64_t{999}), "999");
    EXPECT_EQ(withUnit(4'402'341'478.0, Unit::Bytes), "4.10 GiB");
}

TEST(Terminal, AlignsNumbersToTheRightInOneUnit)
{
    const auto lines = splitLines(terminal(kernels()));
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_EQ(lines[0], "name                                           total (ms)  steps");
    EXPECT_EQ(lines[1], "a_kernel_with_a_long_name_that_goes_on_and_on        1.23      3");
    EXPECT_EQ(lines[2], "short                                               0.089      3");
}

TEST(Terminal, ComparedColumnsShareAUnit)
{
    const auto rowsOf = [](double a, double b) {
        Table table{.rows = 2};
        table.columns = {column<double>("A", {a, 1.5}, Unit::Milliseconds),
                         column<double>("B", {b, 1.5}, Unit::Milliseconds),
                         column<double>("B - A", {b - a, 0}, Unit::Milliseconds),
                         column<double>("size", {512, 4096}, Unit::Bytes),
                         column<double>("alone", {1, 1}, Unit::Milliseconds)};
        for (std::size_t i = 0; i < 4; ++i)
            table.columns[i].unitGroup = 1;
        return splitLines(terminal(table));
    };
    const auto far = rowsOf(1200, 2500);
    EXPECT_EQ(far[0], "A (s)  B (s)  B - A (s)  size (KiB)  alone (ms)");
    EXPECT_EQ(far[1], " 1.20   2.50       1.30       0.500        1.00");
    EXPECT_EQ(far[2], "0.002  0.002          0        4.00        1.00");
    const auto near = rowsOf(1234, 1234.5);
    EXPECT_EQ(near[0], "A (ms)  B (ms)  B - A (ms)  size (KiB)  alone (ms)") << "shows the difference";
    EXPECT_EQ(near[1], " 1,234   1,235       0.500       0.500        1.00");
}

TEST(Terminal, AnIntervalIsInTheUnitOfItsMedian)
{
    Table table{.rows = 3};
    table.columns = {column<double>("median", {0.8, 5, 7}, Unit::Milliseconds),
                     column<Cell>("interval",
                                  {analysis::ConfidenceInterval{0.79, 0.81},
                                   analysis::ConfidenceInterval{4.9, 5.1}, std::string("n < 6: no interval")},
                                  Unit::Milliseconds)};
    table.columns[0].unitGroup = table.columns[1].unitGroup = 1;
    const auto lines = splitLines(terminal(table));
    EXPECT_EQ(lines[0], "median (ms)       interval (ms)");
    EXPECT_EQ(lines[1], "      0.800      0.790 to 0.810");
    EXPECT_EQ(lines[2], "       5.00        4.90 to 5.10");
    EXPECT_EQ(lines[3], "       7.00  n < 6: no interval");
    EXPECT_EQ(cellJson(analysis::ConfidenceInterval{0.5, 2}), "[0.5, 2]");
}

TEST(Terminal, ElidesNamesThenDropsColumnsToFit)
{
    for (std::size_t width = 30; width < 70; ++width)
        for (const std::string& line : splitLines(terminal(kernels(), {.width = width})))
            EXPECT_TRUE(line.starts_with("Columns not shown") || displayWidth(line) <= width) << line;
    EXPECT_THAT(terminal(kernels(), {.width = 40}), HasSubstr("\u2026"));
    EXPECT_THAT(terminal(kernels(), {.width = 40}), Not(HasSubstr("Columns not shown")));
    EXPECT_THAT(terminal(kernels(), {.width = 30}), HasSubstr("Columns not shown: steps"));
}

TEST(Terminal, IsAlignedInAPipeWhateverTheLengthOfItsTexts)
{
    Table table{.rows = 30};
    std::vector<std::string> values(30, "value");
    values[7] = std::string(500, 'x');
    table.columns = {column<std::string>("key", std::vector<std::string>(30, "key")),
                     column<std::string>("value", values),
                     column<std::string>("unit", std::vector<std::string>(30, "B"))};
    table.columns[1].elidable = true;
    const auto lines = splitLines(terminal(table));
    ASSERT_EQ(lines.size(), 31u);
    EXPECT_EQ(lines[8], "key  " + elideMiddle(values[7], 200) + "  B");
    for (const std::string& line : lines) {
        const std::string before = line.substr(0, line.rfind(&line == &lines[0] ? "unit" : "B"));
        EXPECT_EQ(displayWidth(before), 207u) << line;
        EXPECT_NE(line.back(), ' ') << "the last column is not filled up";
    }
}

TEST(Terminal, DropsConstantColumnsFirstAndSaysTheirValue)
{
    Table table{.rows = 3};
    table.columns = {column<std::string>("name", {"a", "b", "c"}),
                     column<std::string>("workload", {"attention", "attention", "attention"}),
                     column<std::int64_t>("n", {10, 11, 12})};
    table.columns[0].keep = 2;
    table.columns[2].keep = 0;
    const std::string text = terminal(table, {.width = 12});
    EXPECT_THAT(text, HasSubstr("Columns not shown: workload (all attention);"));
    EXPECT_THAT(text, HasSubstr("12"));
    EXPECT_THAT(terminal(table, {.width = 4}), HasSubstr("Columns not shown: workload (all attention), n;"));
}

TEST(Terminal, ShortensTitlesBeforeItDropsColumnsThatDiffer)
{
    Table table{.rows = 2};
    table.columns = {column<std::string>("name", {"a", "b"}), column<std::string>("device", {"cpu", "cpu"}),
                     column<std::string>("status", {"ok", "ok"}),
                     column<std::int64_t>("the median of a step", {10, 11})};
    table.columns[2].keep = 2;
    table.columns[2].meaning = Meaning::Status;
    table.columns[3].shortTitle = "step";
    EXPECT_THAT(terminal(table, {.width = 26}), HasSubstr("name  the median of a step\n"));
    EXPECT_THAT(terminal(table, {.width = 10}), HasSubstr("name  step\na       10\n"));
    EXPECT_THAT(terminal(table, {.width = 10}),
                HasSubstr("Columns not shown: status (all ok), device (all cpu);"));
}

TEST(Terminal, PairsThatAreShortenedKeepTheKeyThatVariesMost)
{
    Table table{.rows = 3};
    table.columns = {column<std::string>("what differs", {"backend=naive batch=4 seq_len=64",
                                                          "backend=naive batch=4 seq_len=128",
                                                          "backend=flash batch=4 seq_len=256"})};
    table.columns[0].elidable = true;
    table.columns[0].hasPairs = true;
    table.columns[0].keep = 2;
    EXPECT_EQ(terminal(table, {.width = 30}),
              "what differs\nbackend=naive seq_len=64 \u2026 +1\nbackend=naive seq_len=128 \u2026 +1\n"
              "backend=flash seq_len=256 \u2026 +1\n");
    EXPECT_EQ(terminal(table, {.width = 20}),
              "what differs\nseq_len=64 \u2026 +2\nseq_len=128 \u2026 +2\nseq_len=256 \u2026 +2\n");
}

TEST(Terminal, ShortensNamesThatNobodyReads)
{
    const std::string name(1900, 'k');
    Table table{.rows = 2};
    table.columns = {column<std::string>("name", {name, "gemm"}),
                     column<std::string>("sentence", {name, "fits"})};
    table.columns[0].elidable = true;
    const auto lines = splitLines(terminal(table));
    ASSERT_EQ(lines.size(), 3u);
    const std::size_t second = lines[1].find(' ');
    EXPECT_EQ(displayWidth(lines[1].substr(0, second)), 200U);
    EXPECT_NE(lines[1].find(name, second), std::string::npos) << "only names are shortened";
    std::ostringstream json;
    writeJson(json, table);
    EXPECT_NE(json.str().find(name), std::string::npos) << "in full";
}

TEST(Terminal, ColoursOnlyWhenAsked)
{
    Table table{.rows = 2};
    table.columns = {column<std::string>("status", {"error", "ok"})};
    table.columns[0].meaning = Meaning::Status;
    EXPECT_EQ(terminal(table).find('\x1b'), std::string::npos);
    EXPECT_THAT(terminal(table, {.colour = true}), HasSubstr("\x1b[31merror\x1b[0m"));
    EXPECT_THAT(terminal(table, {.colour = true}), Not(HasSubstr("\x1b[31mok")));
}

TEST(Terminal, SaysWhyItIsEmptyAndHowManyRowsAreMissing)
{
    Table table{.columns = {column<std::int64_t>("n", {})}, .whyEmpty = "Nothing here."};
    EXPECT_EQ(terminal(table), "Nothing here.\n");
    EXPECT_THAT(terminal(kernels(), {.limit = 1}), HasSubstr("1 more row; --limit 0 shows all"));
}

TEST(Terminal, EscapesCells)
{
    Table table{.rows = 1};
    table.columns = {column<std::string>("name", {"\x1b[2J"})};
    table.notes = {"note \x1b[2J"};
    EXPECT_EQ(terminal(table), "name\n\\x1b[2J\nnote \\x1b[2J\n");
}

TEST(Json, GivesEveryCellItsType)
{
    Table table{.rows = 1};
    analysis::Statistics statistics{.n = 2, .mean = 1.5, .median = 1.5, .min = 1, .max = 2, .p95 = 1.95};
    statistics.effective = 2;
    statistics.ci95 = analysis::ConfidenceInterval{1, 2};
    statistics.assumesIndependence = true;
    table.columns = {column<Cell>("none", {Cell()}),
                     column<bool>("yes", {true}),
                     column<std::int64_t>("whole", {std::int64_t{1} << 60}),
                     column<double>("real", {0.25}),
                     column<std::string>("text", {"a\"b"}),
                     column<analysis::Statistics>("stat", {statistics}),
                     column<RawJson>("raw", {RawJson{"[1, 2]"}})};
    table.columns.push_back(column<std::int64_t>("hidden", {1}));
    table.columns.back().audience = Audience::People;
    std::ostringstream out;
    writeJson(out, table);
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json, nlohmann::json::parse(
                        R"([{"none": null, "yes": true, "whole": 1152921504606846976, "real": 0.25,
        "text": "a\"b", "stat": {"mean": 1.5, "std": null, "median": 1.5, "min": 1, "max": 2, "p95": null, "n": 2,
        "n_effective": 2, "ci95": [1, 2], "ci95_assumes": "independent values"}, "raw": [1, 2]}])"));
    statistics.n = 20; // the fewest whose 95th percentile is below the largest
    EXPECT_EQ(nlohmann::json::parse(cellJson(statistics)).at("p95"), 1.95);
}

TEST(Json, AnEmptyTableIsAnEmptyArray)
{
    std::ostringstream out;
    writeJson(out, Table{.whyEmpty = "Nothing lost"});
    EXPECT_EQ(out.str(), "[]\n");
}

// A table may read its rows a page at a time: each format asks for them once, in order.
TEST(Table, IsReadInTheOrderOfItsRowsHoweverItIsWritten)
{
    constexpr std::size_t kRows = 5000;
    std::vector<std::size_t> asked;
    Table table{.rows = kRows};
    for (const char* key : {"a", "b", "c"})
        table.columns.push_back({.key = key, .title = key, .cell = [&asked](std::size_t row) -> Cell {
                                     asked.push_back(row);
                                     return {};
                                 }});
    const auto passes = [&asked] {
        std::size_t count = 1;
        for (std::size_t i = 1; i < asked.size(); ++i)
            count += asked[i] < asked[i - 1] ? 1 : 0;
        return count;
    };
    std::ostringstream out;
    writeTerminal(out, table, {});
    EXPECT_EQ(passes(), 1u);
    EXPECT_EQ(asked.size(), 3 * kRows);
    asked.clear();
    writeTerminal(out, table, {.limit = 10});
    EXPECT_EQ(asked.size(), 3u * 10);
    for (const auto write : {writeJson, writeCsv}) {
        asked.clear();
        write(out, table);
        EXPECT_EQ(passes(), 1u);
        EXPECT_EQ(asked.size(), 3 * kRows);
    }
}

TEST(Csv, SpreadsStatisticsAndGuardsFormulas)
{
    Table table{.rows = 2};
    analysis::Statistics statistics{
        .n = 1, .mean = 5, .median = 5, .min = 5, .max = 5, .p95 = 5, .effective = 1};
    table.columns = {column<std::string>("=name", {"=cmd|x", "b"}),
                     column<Cell>("step", {Cell(statistics), Cell()})};
    table.columns[1].statistic = true;
    std::ostringstream out;
    writeCsv(out, table);
    EXPECT_EQ(out.str(), "'=name,step.mean,step.std,step.median,step.min,step.max,step.p95,step.n,"
                         "step.n_effective,step.ci95_low,step.ci95_high,step.ci95_assumes\r\n"
                         "'=cmd|x,5,,5,5,5,,1,1,,,\r\n"
                         "b,,,,,,,,,,,\r\n");
}

} // namespace tilescope::exchange
