#include "core/analysis/kernels/cubin.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace tilescope::analysis {

namespace {

std::string contentsOf(const std::string& name)
{
    std::ifstream in(std::string(INSIDE_DATA) + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Compares with what nvdisasm -gi says of a module.
/// \return  the number of instructions
int compareWithNvdisasm(const std::string& name)
{
    const Cubin cubin(contentsOf(name + ".cubin"));
    std::ifstream lines(std::string(INSIDE_DATA) + "/" + name + ".txt");
    std::string symbol;
    std::uint64_t offset = 0;
    std::uint32_t line = 0;
    std::uint32_t caller = 0;
    int instructions = 0;
    while (lines >> symbol >> offset >> line >> caller) {
        const auto place = cubin.placeOf(symbol, offset);
        EXPECT_EQ(place ? place->line.line : 0, line) << symbol << ' ' << offset;
        EXPECT_EQ(place ? place->caller.line : 0, caller) << symbol << ' ' << offset;
        ++instructions;
    }
    return instructions;
}

// known.cubin is that of tests/gpu/inside/known.cu: several kernels with inlined functions of other files.
TEST(Cubin, FindsTheLinesThatNvdisasmFinds)
{
    EXPECT_EQ(compareWithNvdisasm("lines"), 232);
    EXPECT_EQ(compareWithNvdisasm("known"), 792);
}

TEST(Cubin, NamesTheInlinedFunction)
{
    const Cubin cubin(contentsOf("lines.cubin"));
    EXPECT_EQ(cubin.placeOf("_Z5scalePfi", 96)->inlined, "half");
    EXPECT_EQ(cubin.placeOf("_Z5scalePfi", 352)->inlined, "twice");
    EXPECT_EQ(cubin.placeOf("_Z5scalePfi", 0)->inlined, "");
    EXPECT_EQ(cubin.placeOf("_Z5scalePfi", 0)->line.file, "/tmp/cub/lines.cu");
}

TEST(Cubin, KnowsNothingOfOtherKernelsAndBeyondTheEnd)
{
    const Cubin cubin(contentsOf("lines.cubin"));
    EXPECT_FALSE(cubin.placeOf("_Z5otherv", 0));
    EXPECT_FALSE(cubin.placeOf("_Z5scalePfi", 1 << 20));
    EXPECT_FALSE(cubin.indexOf("_Z5otherv"));
    EXPECT_TRUE(cubin.indexOf("_Z5scalePfi"));
}

TEST(Cubin, SurvivesDamage)
{
    const std::string whole = contentsOf("lines.cubin");
    ASSERT_FALSE(whole.empty());
    std::mt19937 random(7);
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = whole.substr(0, i % 4 == 0 ? random() % whole.size() : whole.size());
        for (int k = 0; k < 1 + i % 20 && !damaged.empty(); ++k)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        const Cubin cubin(damaged);
        cubin.placeOf("_Z5scalePfi", random() % 4096);
    }
}

} // namespace

} // namespace tilescope::analysis
