#include "core/query/kernels/instruction_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(InstructionShape, HasNoNumbersOfRegisters)
{
    EXPECT_EQ(instructionShape("FFMA R5, R5, R4, 1.5"), "FFMA R, R, R, #");
    EXPECT_EQ(instructionShape("@!P0 BRA 0x7f0"), "@P BRA #");
    EXPECT_EQ(instructionShape("HMMA.16816.F32.BF16 R4, R8.reuse, R2, R4"),
              "HMMA.16816.F32.BF16 R, R.reuse, R, R");
    EXPECT_EQ(instructionShape("LDG.E.128 R4, desc[UR6][R2.64+0x10]"), "LDG.E.128 R, desc[UR][R.64+#]");
    EXPECT_EQ(instructionShape("IMAD.MOV.U32 R1, RZ, RZ, -R3"), "IMAD.MOV.U32 R, RZ, RZ, R");
    EXPECT_EQ(instructionShape("S2R R0, SR_TID.X"), "S2R R, SR_TID.X");
    EXPECT_EQ(instructionShape("BAR.SYNC.DEFER_BLOCKING 0x0"), "BAR.SYNC.DEFER_BLOCKING #");
    EXPECT_EQ(instructionShape(""), "");
}

TEST(PairedInstructions, AreTheLongestCommonSequence)
{
    EXPECT_THAT(pairedInstructions({"a", "b", "c"}, {"a", "b", "c"}),
                ElementsAre(Pair(0, 0), Pair(1, 1), Pair(2, 2)));
    EXPECT_THAT(pairedInstructions({"a", "b", "c", "d"}, {"a", "x", "c", "y", "d"}),
                ElementsAre(Pair(0, 0), Pair(2, 2), Pair(3, 4)));
    EXPECT_THAT(pairedInstructions({"a", "a", "b"}, {"b", "a", "a"}), ElementsAre(Pair(0, 1), Pair(1, 2)));
    EXPECT_THAT(pairedInstructions({"a"}, {"a", "a"}), ElementsAre(Pair(0, 0)));
    EXPECT_THAT(pairedInstructions({"a"}, {"b"}), IsEmpty());
    EXPECT_THAT(pairedInstructions({}, {"b"}), IsEmpty());
}

TEST(PairedInstructions, AreThoseOfLongCodeThatDiffersNearlyEverywhere)
{
    std::vector<std::string> a(5000, "x");
    std::vector<std::string> b(5001, "y");
    a.front() = "first";
    a[10] = "mma";
    a[20] = "mma";
    b[7] = "mma";
    b[1000] = "mma";
    EXPECT_THAT(pairedInstructions(a, b), ElementsAre(Pair(10, 7), Pair(20, 1000)));
}

} // namespace
} // namespace tilescope::query
