#include "core/analysis/advice/tensor_cores.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using namespace tilescope::literals;

const std::vector<Interval> kStep{{timestampAt(0), timestampAt(1'000)}};

std::vector<GroupedTime> product()
{
    return {{{timestampAt(0), timestampAt(100)}, 0}};
}

} // namespace

TEST(TensorCores, AreRecognisedByTheNamesOfLibraries)
{
    for (const char* name : {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_"
                             "ffma_aligna4_alignc4_execute_"
                             "kernel__5x_cublas",
                             "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>",
                             "ampere_sgemm_128x64_tn", "maxwell_scudnn_128x64_relu_interior_nn_v1"})
        EXPECT_TRUE(multipliesOutsideTensorCores(name)) << name;
    for (const char* name :
         {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_warpgroupsize1x1x1_execute_segment_k_off_"
          "kernel",
          "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>",
          "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn", "nvjet_hsh_128x64_64x8_1x2_h_bz_TNT"})
        EXPECT_FALSE(multipliesOutsideTensorCores(name)) << name;
}

TEST(TensorCores, SaveByTheRatesOfTheDevice)
{
    EXPECT_EQ(unusedTensorCores(product(), kStep, {}, {.fp32 = 25e12, .tf32 = 100e12, .low = 50e12}).time,
              75_ns);
    EXPECT_EQ(unusedTensorCores(product(), kStep, {}, {.fp32 = 25e12, .tf32 = 25e12}).time, 0_ns);
    EXPECT_EQ(unusedTensorCores(product(), kStep, {}, {.fp32 = 25e12}).time, 0_ns) << "has no tensor cores";
}

} // namespace tilescope::analysis
