// Texts of a Kineto trace: times become whole nanoseconds, types and shapes the product's words.

#include "core/analysis/work/tensor_shape.h"
#include "core/exchange/import/kineto/kineto_values.h"

#include <gtest/gtest.h>

namespace tilescope::exchange {

TEST(KinetoTime, IsExactWhereADoubleIsNot)
{
    EXPECT_EQ(nanosecondsOfMicroseconds("4525974680813.322"), 4525974680813322);
    EXPECT_EQ(nanosecondsOfMicroseconds("1626000000000000.001"), 1626000000000000001);
    EXPECT_EQ(nanosecondsOfMicroseconds("1626000000000000"), 1626000000000000000);
    EXPECT_EQ(nanosecondsOfMicroseconds("0.8"), 800);
    EXPECT_EQ(nanosecondsOfMicroseconds("0"), 0);
    EXPECT_EQ(nanosecondsOfMicroseconds("0.000"), 0);
}

TEST(KinetoTime, RoundsDigitsBeyondNanoseconds)
{
    EXPECT_EQ(nanosecondsOfMicroseconds("3.2149999999999999"), 3215);
    EXPECT_EQ(nanosecondsOfMicroseconds("3.2154999999999999"), 3215);
    EXPECT_EQ(nanosecondsOfMicroseconds("0.0005"), 1);
    EXPECT_EQ(nanosecondsOfMicroseconds("0.00049"), 0);
}

TEST(KinetoTime, ReadsExponents)
{
    EXPECT_EQ(nanosecondsOfMicroseconds("1e-05"), 0);
    EXPECT_EQ(nanosecondsOfMicroseconds("2.5e-2"), 25);
    EXPECT_EQ(nanosecondsOfMicroseconds("-500.0015"), -500002);
    EXPECT_EQ(nanosecondsOfMicroseconds("1.626E+15"), 1626000000000000000);
    EXPECT_EQ(nanosecondsOfMicroseconds("0e300"), 0);
}

TEST(KinetoTime, RefusesInvalidTimes)
{
    for (const char* text : {"", "-", "--1", "-x", "nan", "12a", "1.2.3", "1e", "1e999", "1e30", "0x10",
                             "99999999999999999999999", "4000000000000000"})
        EXPECT_FALSE(nanosecondsOfMicroseconds(text)) << text;
}

TEST(KinetoNumbers, FitOrAreRefused)
{
    EXPECT_EQ(integerOf("-5"), -5);
    EXPECT_EQ(integerOf("7.0"), 7);
    EXPECT_FALSE(integerOf("7.5"));
    EXPECT_FALSE(integerOf("9223372036854775808"));
    EXPECT_EQ(unsignedOf("18446744073709551615"), 18446744073709551615U);
    EXPECT_FALSE(unsignedOf("-1"));
    EXPECT_FALSE(unsignedOf(""));
    EXPECT_EQ(sizesOf("[24, 1,\n 3]"), (std::array<std::uint32_t, 3>{24, 1, 3}));
    EXPECT_EQ(sizesOf("[24]"), (std::array<std::uint32_t, 3>{24, 0, 0}));
    EXPECT_EQ(sizesOf("24"), (std::array<std::uint32_t, 3>{}));
}

TEST(KinetoShapes, AreThoseThatTheShapeParserReads)
{
    std::string shapes = "left over";
    shapesOf("[[4, 128, 768], [768], [], [], [5]]",
             R"(["c10::BFloat16", "float", "Scalar", "long int", "c10::Float8_e4m3fn"])", shapes);
    EXPECT_EQ(shapes, "bf16[4, 128, 768] f32[768] i64[] f8[5]");
    const auto tensors = analysis::parseShapes(shapes);
    ASSERT_TRUE(tensors);
    ASSERT_EQ(tensors->size(), 4U);
    EXPECT_EQ((*tensors)[0].elements(), 4 * 128 * 768);
    EXPECT_EQ((*tensors)[0].elementBytes, 2);
}

TEST(KinetoShapes, UnfoldListsOfTensors)
{
    std::string shapes;
    shapesOf("[[[2, 3], [4]], [7]]", R"(["TensorList", "double"])", shapes);
    EXPECT_EQ(shapes, "[2, 3] [4] f64[7]");
}

TEST(KinetoShapes, OfDamagedListsAreEmptyOrPartial)
{
    std::string shapes;
    for (const char* dims : {"", "[", "[]", "[[", "[[x]]", "7", "[\"a]\", ", "[[[[]]]]"}) {
        shapesOf(dims, "[\"float", shapes);
        EXPECT_TRUE(analysis::parseShapes(shapes)) << dims << " " << shapes;
    }
}

TEST(KinetoArguments, KeepLiteralsStridesAndPositions)
{
    std::string arguments = "left over";
    argumentsOf("[[4, 8], [], [[2], [3]], [], [], [], [8, 1, 1]]",
                R"(["c10::BFloat16", "", "TensorList", "ScalarList", "Scalar", "", "float"])",
                "[[1, 4], [], [[1], [1]], [], [], [], [5, 9, 1]]",
                R"(["", "", "", "[1, -1]", "False", "", ""])", arguments);
    EXPECT_EQ(arguments, "bf16[4, 8]{1, 4} =none ([2] [3]) =[1, -1] =false =none f32[8, 1, 1]{5, 9, 1}");
    EXPECT_TRUE(analysis::parseArguments(arguments));
    argumentsOf("[[4], [], []]", R"(["float", "", ""])", "[[1], [], []]", R"(["", "", ""])", arguments);
    EXPECT_EQ(arguments, "f32[4]") << "absent arguments at the end are left out";
    argumentsOf("[[4], []]", R"(["float", "Scalar"])", "", R"(["", "a) =b"])", arguments);
    EXPECT_EQ(arguments, "f32[4] =?");
    for (const char* dims : {"", "[", "[]", "[[", "[[x]]", "7", "[\"a]\", ", "[[[[]]]]"}) {
        argumentsOf(dims, "[\"float", "[[1", "[\"", arguments);
        EXPECT_TRUE(analysis::parseArguments(arguments)) << dims << " " << arguments;
    }
}

TEST(KinetoWords, AreThoseOfTheProduct)
{
    EXPECT_EQ(dtypeWord("BFloat16"), "bf16");
    EXPECT_EQ(dtypeWord("c10::complex<float>"), "c64");
    EXPECT_EQ(dtypeWord("Scalar"), "");
    EXPECT_EQ(collectiveWord("_allgather_base"), "all_gather");
    EXPECT_EQ(collectiveWord("allreduce"), "all_reduce");
    EXPECT_EQ(collectiveWord("wait"), "");
    EXPECT_EQ(collectiveWord("send"), "send");
}

} // namespace tilescope::exchange
