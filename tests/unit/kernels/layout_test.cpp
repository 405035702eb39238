#include "kernels/cuda/hopper/common/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace tilescope::kernels::hopper {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kBankBytes = 4;
constexpr unsigned kBanks = 32;

template <class Way> class TransposedValues : public ::testing::Test {
};
using Ways = ::testing::Types<Transposition<64, 128>, Transposition<128, 64>, Transposition<64, 96>,
                              Transposition<128, 32>, Transposition<32, 32>>;
TYPED_TEST_SUITE(TransposedValues, Ways);

TEST(Swizzle, KeepsTheChunksOfARowInThatRow)
{
    for (int row = 0; row < 64; ++row) {
        std::set<int> places;
        for (int chunk = 0; chunk < 2 * kChunksPerRow; ++chunk) {
            const int offset = chunkOffset(64, row, chunk);
            EXPECT_EQ(offset / kRowBytes, chunk / kChunksPerRow * 64 + row);
            EXPECT_EQ(offset % kChunkBytes, 0);
            places.insert(offset);
        }
        EXPECT_EQ(places.size(), 2U * kChunksPerRow);
    }
}

TEST(Descriptor, SaysWhereAnOperandBegins)
{
    // Fields of PTX ISA 9.0, 9.7.15.5.1: address and strides in units of 16 bytes, 128-byte swizzle 1.
    const std::uint64_t descriptor = matrixDescriptor(0x12400);
    EXPECT_EQ(descriptor & 0x3fff, 0x1240U);
    EXPECT_EQ(descriptor >> 32 & 0x3fff, 1024U / 16);
    EXPECT_EQ(descriptor >> 49 & 7, 0U);
    EXPECT_EQ(descriptor >> 62, 1U);
    EXPECT_EQ(advance(descriptor, stepOffset(64, 5)) & 0x3fff, (0x12400U + 64 * 128 + 32) / 16);
}

TEST(Accumulators, HoldEachElementOnce)
{
    std::set<std::pair<int, int>> seen;
    for (int thread = 0; thread < kThreads; ++thread) {
        for (int i = 0; i < 32; ++i) {
            const Coordinates at = accumulatorAt(thread, i);
            seen.insert({at.row, at.column});
        }
    }
    EXPECT_EQ(seen.size(), 64U * 64);
    EXPECT_EQ(*seen.rbegin(), std::make_pair(63, 63));
}

TEST(Weights, GoFromAccumulatorsToOperandWithoutLeavingTheirThread)
{
    // Element (row, depth) of a step's operand must be the score of this row with the key that V has at this
    // depth.
    for (int thread = 0; thread < kThreads; ++thread) {
        for (int i = 0; i < 32; ++i) {
            const Coordinates operand = tf32OperandAt(thread, i % 4);
            const Coordinates score = accumulatorAt(thread, accumulatorOfOperand(i));
            EXPECT_EQ(score.row, operand.row);
            EXPECT_EQ(score.column, keyOfColumn(i / 4 * kTf32Depth + operand.column));
        }
    }
}

TEST(Fp8Weights, MeetTheirKeysInTheOperandRegisters)
{
    // Byte b of register i of an operand is in row g + 8 (i % 2) and at depth 16 (i / 2 % 2) + 4 t + b of its step (PTX ISA
    // 9.0, 9.7.15.5). The transposed V has at this depth the key of the score that becomes this byte.
    for (int thread = 0; thread < kThreads; ++thread) {
        for (int i = 0; i < 16; ++i) {
            for (int byte = 0; byte < 4; ++byte) {
                const int row = thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8;
                const int depth = i / 4 * kFp8Depth + i / 2 % 2 * 16 + thread % 4 * 4 + byte;
                const Coordinates score =
                    accumulatorAt(thread, accumulatorOfFp8Operand(i, byte / 2) + byte % 2);
                EXPECT_EQ(score.row, row);
                EXPECT_EQ(score.column / kFp8Depth * kFp8Depth + fp8ColumnOfKey(score.column % kFp8Depth),
                          depth);
            }
        }
    }
}

TEST(Weights, AreMultipliedByEachKeyOnce)
{
    std::set<int> keys;
    for (int column = 0; column < 64; ++column) {
        EXPECT_EQ(keyOfColumn(column) / kTf32Depth, column / kTf32Depth);
        keys.insert(keyOfColumn(column));
    }
    EXPECT_EQ(keys.size(), 64U);
}

TYPED_TEST(TransposedValues, FillTheTile)
{
    std::set<unsigned> sources;
    std::set<unsigned> targets;
    for (unsigned block = 0; block < TypeParam::kBlocks; ++block) {
        for (unsigned lane = 0; lane < 32; ++lane) {
            for (unsigned key = 0; key < TypeParam::kEdge; ++key) {
                sources.insert(TypeParam::source(block, lane, key));
            }
            for (unsigned chunk = 0; chunk < kChunksPerRow; ++chunk) {
                targets.insert(TypeParam::target(block, lane, chunk));
            }
        }
    }
    const unsigned bytes = TypeParam::kBlocks * TypeParam::kEdge * TypeParam::kEdge * 4;
    EXPECT_EQ(sources.size(), bytes / 4);
    EXPECT_EQ(*sources.rbegin(), bytes - 4);
    EXPECT_EQ(targets.size(), bytes / 16);
    EXPECT_EQ(*targets.rbegin(), bytes - 16);
}

TYPED_TEST(TransposedValues, HaveNoBankConflicts)
{
    const auto bank = [](unsigned offset) { return offset / kBankBytes % kBanks; };
    for (unsigned block = 0; block < TypeParam::kBlocks; ++block) {
        for (unsigned key = 0; key < TypeParam::kEdge; ++key) {
            std::set<unsigned> banks;
            for (unsigned lane = 0; lane < 32; ++lane) {
                banks.insert(bank(TypeParam::source(block, lane, key)));
            }
            EXPECT_EQ(banks.size(), kBanks);
        }
        // Eight lanes at a time write 16 bytes each.
        for (unsigned chunk = 0; chunk < kChunksPerRow; ++chunk) {
            for (unsigned first = 0; first < 32; first += 8) {
                std::set<unsigned> banks;
                for (unsigned lane = first; lane < first + 8; ++lane) {
                    banks.insert(bank(TypeParam::target(block, lane, chunk)));
                }
                EXPECT_EQ(banks.size(), 8U);
            }
        }
    }
}

} // namespace
} // namespace tilescope::kernels::hopper
