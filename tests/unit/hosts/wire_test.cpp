#include "core/hosts/wire.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

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

TEST(FrameReader, TakesBytesThatWereReadToTheirPlace)
{
    std::string piece(300'000, '\0');
    for (std::size_t i = 0; i < piece.size(); ++i)
        piece[i] = static_cast<char>(i * 7 / 5);
    const std::string bytes = framed(FrameType::Piece, piece) + framed(FrameType::Message, "{}");
    for (const std::size_t step : {std::size_t{1000}, std::size_t{65'536}, std::size_t{299'000}}) {
        FrameReader reader(false);
        std::vector<Frame> frames;
        const auto take = [&](Frame frame) { frames.push_back(std::move(frame)); };
        std::string_view left = bytes;
        while (!left.empty()) {
            const std::span<char> place = reader.expected();
            const std::size_t count = std::min({step, left.size(), place.empty() ? step : place.size()});
            if (place.empty()) {
                reader.feed(left.substr(0, count), take);
            } else {
                std::ranges::copy(left.substr(0, count), place.begin());
                reader.arrived(count, take);
            }
            left.remove_prefix(count);
        }
        ASSERT_EQ(frames.size(), 2u) << step;
        EXPECT_EQ(frames[0].type, FrameType::Piece);
        EXPECT_TRUE(frames[0].body == piece) << step;
        EXPECT_EQ(frames[1].body, "{}");
    }
}

TEST(PieceCheck, DiffersForEachChangedByteAndLength)
{
    std::mt19937 random(3);
    for (const std::size_t size : {1u, 8u, 31u, 32u, 33u, 100u, 4096u}) {
        std::string bytes(size, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random());
        const std::uint64_t check = pieceCheck(bytes);
        EXPECT_EQ(check, pieceCheck(bytes));
        for (std::size_t i = 0; i<size; i += size> 100 ? 37 : 1) {
            std::string changed = bytes;
            changed[i] = static_cast<char>(changed[i] ^ (1 + random() % 255));
            EXPECT_NE(pieceCheck(changed), check) << size << ' ' << i;
        }
        EXPECT_NE(pieceCheck(bytes + '\0'), check);
        EXPECT_NE(pieceCheck(std::string(size, '\0')), pieceCheck(std::string(size + 32, '\0')));
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
