#include "core/hosts/wire.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

#include <random>

namespace tilescope::hosts {

namespace {

std::vector<Frame> framesOf(FrameReader& reader, std::string_view bytes, std::size_t step)
{
    std::vector<Frame> frames;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size())))
        reader.feed(bytes.substr(0, step), [&](Frame frame) { frames.push_back(std::move(frame)); });
    return frames;
}

} // namespace

TEST(FrameReader, FindsFramesBehindWhatLoginScriptsPrint)
{
    const std::string bytes = "Welcome!\ntilescope serves 0\n" + std::string(kGreeting) +
                              framed(FrameType::Message, "{}") + framed(FrameType::Output, "") +
                              framed(FrameType::Piece, bigEndian(7) + std::string(70'000, '\0'));
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
        FrameReader reader(true);
        const std::vector<Frame> frames = framesOf(reader, bytes, step);
        ASSERT_EQ(frames.size(), 3u);
        EXPECT_EQ(frames[0].body, "{}");
        EXPECT_EQ(frames[1].type, FrameType::Output);
        EXPECT_EQ(fromBigEndian(frames[2].body), 7u);
        EXPECT_EQ(frames[2].body.size(), 70'008u);
    }
}

TEST(FrameReader, RefusesLengthsAndTypesThatNobodySends)
{
    FrameReader tooLong(false);
    EXPECT_THROW(framesOf(tooLong, "\xff\xff\xff\xffJ", 9), Error);
    FrameReader unknown(false);
    EXPECT_THROW(framesOf(unknown, std::string("\0\0\0\1?", 5), 9), Error);
    FrameReader noGreeting(true);
    EXPECT_THROW(framesOf(noGreeting, std::string(kMostBefore + 1, 'x'), 4096), Error);
}

TEST(FrameReader, HoldsAtMostAFrameOfRandomBytes)
{
    std::mt19937 random(17);
    for (int round = 0; round < 200; ++round) {
        FrameReader reader(false);
        std::string bytes(4096, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        try {
            framesOf(reader, bytes, 100);
        } catch (const Error&) { // the usual end
        }
        EXPECT_LE(reader.before().size(), kMostBody + bytes.size());
    }
}

} // namespace tilescope::hosts
