#include "core/analysis/kernels/mangled_name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tilescope::analysis {

TEST(MangledName, BecomesTheQualifiedNameWithItsArguments)
{
    struct Case {
        const char* mangled;
        const char* readable;
    };
    for (const Case& each :
         {Case{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_"
               "diiiiiiib",
               "aiter::add_rmsnorm_quant_kernel<__bf16, __bf16, 64, 8, false, false, true, 1>"},
          Case{"_Z9transposePKfPfii", "transpose"},
          Case{"_ZN12_GLOBAL__N_16kernelIfEEvPT_", "(anonymous namespace)::kernel<float>"},
          Case{"_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64ELi128EN7cutlass10bfloat16_"
               "tEEEEv16Params",
               "flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t>>"}})
        EXPECT_EQ(demangled(each.mangled), each.readable);
}

TEST(MangledName, IsReadAsFarAsItGoes)
{
    const std::string whole = "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_"
                              "9ProblemTwIDF16bEEEEEEEEvv";
    EXPECT_EQ(demangled(whole),
              "ck_tile::kentry<1, Rmsnorm2dFwd<Rmsnorm2dFwdPipelineOnePass<ProblemTw<__bf16>>>>");
    EXPECT_EQ(demangled(whole.substr(0, 60)), "ck_tile::kentry<1, Rmsnorm2dFwd<Rmsnorm2dFwdPi>>");
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        const std::string part = demangled(whole.substr(0, length));
        EXPECT_EQ(std::ranges::count(part, '<'), std::ranges::count(part, '>')) << part;
        if (length > 30) {
            EXPECT_EQ(part.find("ck_tile::kentry"), 0U) << part;
        }
    }
}

TEST(MangledName, OtherNamesAreNotMangled)
{
    for (const char* name : {"", "_Z", "_Zero", "gemm", "_fwd_kernel", "void a<int>()", "__Z"})
        EXPECT_FALSE(isMangled(name)) << name;
    EXPECT_TRUE(isMangled("_ZN2ck1aEv"));
    EXPECT_TRUE(isMangled("__ZN2ck1aEv"));
}

TEST(MangledName, HostileNamesStaySmall)
{
    for (const char* unit :
         {"I", "N", "Z", "S_", "J", "P", "A_", "FIv", "N1aI", "_Z", "1a", "LN", "U", "99999999"}) {
        std::string name = "_ZN1a";
        while (name.size() < 1'000'000)
            name += unit;
        EXPECT_LE(demangled(name).size(), 20'000U) << unit;
    }
}

} // namespace tilescope::analysis
