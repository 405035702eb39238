#include "core/session/protocol/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tilescope::session {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

namespace {

struct Collected {
    std::vector<std::string> lines;
    std::function<void(std::string_view)> take = [this](std::string_view line) { lines.emplace_back(line); };
};

} // namespace

TEST(LineSplitter, JoinsWhatComesInPieces)
{
    LineSplitter splitter;
    Collected got;
    for (const char* piece : {"on", "e\ntw", "o\n\n", "rest"})
        splitter.feed(piece, got.take);
    EXPECT_THAT(got.lines, ElementsAre("one", "two", ""));
    splitter.finish(got.take);
    EXPECT_THAT(got.lines, ElementsAre("one", "two", "", "rest"));
}

TEST(LineSplitter, DropsALineThatIsTooLongAndGoesOnAfterIt)
{
    LineSplitter splitter(10);
    Collected got;
    for (int i = 0; i < 1000; ++i)
        splitter.feed("xxxxxxx", got.take);
    splitter.feed("\nshort\n", got.take);
    EXPECT_THAT(got.lines, ElementsAre("short"));
    EXPECT_EQ(splitter.dropped(), 1U);
}

TEST(LineSplitter, GivesTheSameLinesHoweverTheBytesAreCut)
{
    const unsigned seed = std::random_device{}();
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::string> lines;
    std::string stream;
    for (int i = 0; i < 200; ++i) {
        lines.emplace_back(random() % 40, static_cast<char>('a' + i % 26));
        stream += lines.back() + "\n";
    }
    LineSplitter splitter;
    Collected got;
    for (std::string_view rest = stream; !rest.empty();) {
        const std::size_t length = std::min<std::size_t>(1 + random() % 97, rest.size());
        splitter.feed(rest.substr(0, length), got.take);
        rest.remove_prefix(length);
    }
    EXPECT_THAT(got.lines, ElementsAreArray(lines));
}

} // namespace tilescope::session
