#include "core/analysis/kernels/kernel_families.h"

#include "core/analysis/kernels/kernel_name.h"
#include "core/base/error.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace tilescope::analysis {

namespace {

using ::testing::HasSubstr;

/// A device activity that PyTorch 2.11 ran on an H200, with the expected family and short name.
struct RealKernel {
    std::string name;
    std::vector<std::string> workloads;
    double microseconds = 0;
    std::string family;
    std::string shortName;

    DeviceEventKind kind() const
    {
        return name.starts_with("Memcpy")   ? DeviceEventKind::Memcpy
               : name.starts_with("Memset") ? DeviceEventKind::Memset
                                            : DeviceEventKind::Kernel;
    }
};

std::vector<RealKernel> realKernels()
{
    std::ifstream names(TILESCOPE_TEST_DATA "/kernel_names.jsonl");
    std::ifstream expected(TILESCOPE_TEST_DATA "/kernel_families.tsv");
    std::vector<RealKernel> kernels;
    for (std::string line, answer; std::getline(names, line) && std::getline(expected, answer);) {
        const auto json = nlohmann::json::parse(line);
        const std::size_t tab = answer.find('\t');
        kernels.push_back(
            {json["name"], json["workloads"], json["us"], answer.substr(0, tab), answer.substr(tab + 1)});
    }
    return kernels;
}

/// A kernel with its family and where that is known from: the library's source file, or the op that launched it.
struct SourcedKernel {
    std::string name;
    std::string family;
    std::string source;
};

std::vector<SourcedKernel> sourcedKernels()
{
    std::ifstream file(TILESCOPE_TEST_DATA "/kernel_sources.tsv");
    std::vector<SourcedKernel> kernels;
    for (std::string line; std::getline(file, line);) {
        const std::size_t family = line.find('\t');
        const std::size_t source = line.find('\t', family + 1);
        kernels.push_back(
            {line.substr(0, family), line.substr(family + 1, source - family - 1), line.substr(source + 1)});
    }
    return kernels;
}

} // namespace

TEST(KernelFamilies, AreThoseOfTheSourcesOfTheirLibraries)
{
    const std::vector<SourcedKernel> kernels = sourcedKernels();
    ASSERT_GE(kernels.size(), 2000U);
    std::size_t wrong = 0;
    std::size_t other = 0;
    std::string examples;
    for (const SourcedKernel& kernel : kernels) {
        ASSERT_FALSE(kernel.source.empty()) << kernel.name;
        const std::string_view family = wordOf(KernelFamilies::standard().describe(kernel.name).family);
        if (family == kernel.family)
            continue;
        (family == "other" ? other : wrong) += 1;
        if (family != "other")
            examples += std::string(family) + " instead of " + kernel.family + ": " + kernel.name + "\n";
    }
    // A wrong family is worse than none.
    EXPECT_LE(wrong, kernels.size() / 100) << examples;
    EXPECT_LE(other, kernels.size() / 50);
}

TEST(KernelFamilies, FollowFromWhatAFusedKernelDoesFirst)
{
    using enum KernelFamily;
    const std::pair<const char*, KernelFamily> expected[] = {
        {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", Collective},
        {"void c10d::symmetric_memory::(anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16>(int)",
         Collective},
        {"two_shot_all_reduce_kernel_inplace", Collective},
        {"void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<8>(int)", Collective},
        {"void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)",
         Collective},
        {"void deep_ep::internode_ll::dispatch<true, 3, 7168>(void*)", Collective},
        {"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(void*)", Collective},
        {"nvshmemi_transfer_rma_p_kernel", Collective},
        {"mscclKernel_Sum_half_Simple_false", Collective},
        {"attn_fwd", Attention},
        {"void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(int)", Attention},
        {"kernel_unified_attention_3d", Attention},
        {"fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausalP16VarSeqQ128Kv128PersistentContext", Attention},
        {"void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, unsigned char>(int)", Attention},
        {"void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(void*, int)", Attention},
        {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(int)",
         Attention},
        {"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", Matmul},
        {"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_swiGlu", Matmul},
        {"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 2112u, 7168u>(float*)", Matmul},
        {"fused_moe_kernel", Matmul},
        {"void marlin::Marlin<__nv_bfloat16, 256, 1, 8, 8>(int4 const*)", Matmul},
        {"cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1", Convolution},
        {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)", Convolution},
        {"void wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)", Convolution},
        {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)", Convolution},
        {"igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt64x64x64_wt16x16x16", Convolution},
        {"void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4> >(int)", Convolution},
        {"void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128> >(int)", Scan},
        {"_chunk_scan_fwd_kernel", Scan},
        {"void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, int>(float const*)", Reduction},
        {"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)", Reduction},
        {"void vllm::scaled_fp8_quant_kernel<c10::BFloat16, c10::Float8_e4m3fn>(int)", Elementwise},
        {"void vllm::rms_norm_static_fp8_quant_kernel<c10::BFloat16>(int)", Norm},
        {"triton_poi_fused__scaled_dot_product_flash_attention_cat_0", Elementwise},
        {"__amd_rocclr_copyBuffer", Copy},
        {"__amd_rocclr_fillBufferAligned.kd", Memset},
        {"at::cuda::(anonymous namespace)::spin_kernel(long)", Other},
        {"triton__0d1d2d3d", Other},
        {"fusion_17", Other}};
    for (const auto& [name, family] : expected)
        EXPECT_EQ(wordOf(KernelFamilies::standard().describe(name).family), wordOf(family)) << name;
}

TEST(KernelFamilies, ShortNamesLeaveOutWhatCompilersAdd)
{
    const std::pair<const char*, const char*> expected[] = {
        {"CUDA graph 7", "CUDA graph 7"},
        {"std::enable_if<(width>0) && vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
         "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
         "fused add rms norm bf16"},
        {"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi64ELi8ELb0EEEvPT0_PT_", "add rmsnorm quant bf16"},
        {"_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_29BlockFmhaPipelineQRKSVSAsyncINS_24BlockFmhaPipeli",
         "fmha fwd"},
        {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)64, (int)4, "
         "cutlass::bfloat16_t>, (bool)0>(flash::Flash_fwd_params)",
         "flash attention forward bf16 d128"},
        {"void gemvx::kernel<int, int, __nv_bfloat16, float, true>(int)", "gemvx kernel bf16"},
        {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, "
         "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, "
         "cute::tuple<cute::C<2>, cute::C<1>, cute::C<1>>>, cute::tuple<cute::C<128>, cute::C<256>, "
         "cute::C<64>>, "
         "cutlass::half_t>>>(Params)",
         "cutlass gemm fp16 sm90 128x256x64"},
        {"kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttention_object_at__tensorptrbf16gmem",
         "flash attncuteflash fwd sm100flash attention"},
        {"_chunk_scan_fwd_kernel_0d1d2d3de", "chunk scan fwd"},
        {"decltype(auto) foo::add_rows<int>(int*)", "add rows i32"},
        {"_ZN7kernels8add_rows17h0123456789abcdefE", "add rows"},
        {"add_rows.clone.0", "add rows"},
        {"add_rows (.llvm.123456)", "add rows"},
        {"add_rows.constprop.0.isra.12", "add rows"},
        {"void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, "
         "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator "
         "()(at::TensorIterator &)::[lambda(float, float) (instance 1)]>, unsigned int, float, (int)4>>(T3)",
         "sum fp32"},
        {"void flashinfer::sampling::TopKTopPSamplingFromProbKernel<1024u>(float*)",
         "top k top p sampling from prob"}};
    for (const auto& [full, shortName] : expected)
        EXPECT_EQ(KernelFamilies::standard().describe(full).shortName, shortName) << full;
    EXPECT_LE(KernelFamilies::standard().describe(std::string(1900, 'x')).shortName.size(), 122U);
}

TEST(KernelFamilies, KnowsTheProductsOfTensile)
{
    struct Case {
        const char* name;
        const char* shortName;
    };
    for (const Case& each :
         {Case{"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_1LDSB0_APM1",
               "Tensile gemm fp16 128x128x16 nn"},
          Case{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x256x64_MI16x16x1_SN",
               "Tensile gemm bf16 256x256x64 tn"},
          Case{"Cijk_Ailk_Bjlk_SB_MT64x32x16_MI32x32x2x1_SN", "Tensile gemm fp32 64x32x16 nt"},
          Case{"Cijk_S_PostGSU4_VW4", "Tensile gemm split-K sum"}, Case{"Cijk_B", "Tensile gemm"}}) {
        const KernelDescription description = KernelFamilies::standard().describe(each.name);
        EXPECT_EQ(description.family, KernelFamily::Matmul) << each.name;
        EXPECT_EQ(description.shortName, each.shortName);
    }
}

TEST(KernelFamilies, KnowsEveryRealKernel)
{
    const std::vector<RealKernel> kernels = realKernels();
    ASSERT_EQ(kernels.size(), 445u);
    for (const RealKernel& kernel : kernels) {
        const KernelDescription description = KernelFamilies::standard().describe(kernel.name, kernel.kind());
        EXPECT_EQ(wordOf(description.family), kernel.family) << kernel.name;
        EXPECT_EQ(description.shortName, kernel.shortName) << kernel.name;
        EXPECT_FALSE(description.does.empty()) << kernel.name;
    }
}

TEST(KernelFamilies, ShortNamesAreShort)
{
    for (const RealKernel& kernel : realKernels()) {
        const std::string name = KernelFamilies::standard().describe(kernel.name, kernel.kind()).shortName;
        EXPECT_LE(name.size(), 80U) << kernel.name;
        EXPECT_EQ(name.find("::"), std::string::npos) << kernel.name;
    }
}

TEST(KernelFamilies, OtherIsUnderOnePercentOfTheTimeOfModels)
{
    double all = 0;
    double other = 0;
    for (const RealKernel& kernel : realKernels()) {
        all += kernel.microseconds;
        if (KernelFamilies::standard().describe(kernel.name, kernel.kind()).family == KernelFamily::Other)
            other += kernel.microseconds;
    }
    EXPECT_LT(other / all, 0.01);
}

TEST(KernelFamilies, KnowsItsOwnKernels)
{
    const auto& families = KernelFamilies::standard();
    const auto forward = families.describe(
        "void tilescope::kernels::attention_forward<tilescope::Tile<128, 64>, __nv_bfloat16>(int)");
    EXPECT_EQ(forward.family, KernelFamily::Attention);
    EXPECT_EQ(forward.shortName, "tilescope attention forward bf16");
    for (const char* name : {"attentionForward", "attentionBackward", "prepare", "finish"}) {
        const std::string full = std::string("void tilescope::kernels::hopper::(anonymous namespace)::") +
                                 name + "<__nv_bfloat16>(int)";
        EXPECT_EQ(families.describe(full).family, KernelFamily::Attention) << name;
    }
    const std::pair<const char*, KernelFamily> ofTheLanguageModel[] = {
        {"addRmsNormKernel", KernelFamily::Norm},      {"sumPartsKernel", KernelFamily::Norm},
        {"rmsNormBackwardKernel", KernelFamily::Norm}, {"rotateHeadsKernel", KernelFamily::Attention},
        {"swiGluKernel", KernelFamily::Elementwise},   {"swiGluBackwardKernel", KernelFamily::Elementwise},
        {"crossEntropyKernel", KernelFamily::Softmax}, {"embeddingBackwardKernel", KernelFamily::Embedding},
        {"adamwKernel", KernelFamily::Optimizer},      {"rowsProductKernel", KernelFamily::Matmul},
        {"storeHeadsKernel", KernelFamily::Attention}};
    for (const auto& [name, family] : ofTheLanguageModel)
        EXPECT_EQ(families
                      .describe(std::string("void tilescope::kernels::(anonymous namespace)::") + name +
                                "<__nv_bfloat16>(int)")
                      .family,
                  family)
            << name;
}

TEST(KernelFamilies, KnowsEachKernelOfTheSources)
{
    const std::regex kernel(
        R"(__global__\s+void\s+(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\()");
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             std::filesystem::path(TILESCOPE_SOURCE_DIR) / "kernels")) {
        if (!entry.is_regular_file())
            continue;
        std::ostringstream text;
        text << std::ifstream(entry.path()).rdbuf();
        const std::string source = std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
        for (std::sregex_iterator match(source.begin(), source.end(), kernel), end; match != end;
             ++match, ++count) {
            const std::string name =
                "void tilescope::kernels::" + entry.path().parent_path().filename().string() +
                "::(anonymous namespace)::" + (*match)[1].str() + "<int>(int)";
            EXPECT_NE(KernelFamilies::standard().describe(name).family, KernelFamily::Other)
                << entry.path() << ": " << name;
        }
    }
    EXPECT_GE(count, 17U);
}

TEST(KernelFamilies, NamesThePrecisionOfItsOwnKernelsOnce)
{
    const auto& families = KernelFamilies::standard();
    const std::string hopper = "void tilescope::kernels::hopper::(anonymous namespace)::";
    const auto shortName = [&](const std::string& name) {
        return families.describe(hopper + name).shortName;
    };
    EXPECT_EQ(shortName("attentionForwardTf32<tilescope::kernels::hopper::Tf32Tile<128, 64>>(CUtensorMap)"),
              "tilescope attention forward tf32");
    EXPECT_EQ(shortName("attentionBackwardTf32<tilescope::kernels::hopper::Tf32BackwardTile<64>>(int)"),
              "tilescope attention backward tf32");
    EXPECT_EQ(shortName("prepare<float>(int)"), "tilescope prepare fp32");
    EXPECT_EQ(families.describe(hopper + "attentionBackwardTf32<int>(int)").family, KernelFamily::Attention);
}

TEST(KernelFamilies, AnUnknownKernelIsOtherUnderItsOwnName)
{
    const auto mine = KernelFamilies::standard().describe("my::strange_thing(float*)");
    EXPECT_EQ(mine.family, KernelFamily::Other);
    EXPECT_EQ(mine.shortName, "strange thing");
    EXPECT_EQ(KernelFamilies::standard().describe("").shortName, "");
    EXPECT_EQ(KernelFamilies::standard().describe("<<<").shortName, "<<<");
}

TEST(KernelFamilies, BarriersOfRanksAreCollectivesAndThoseOfABlockAreNot)
{
    for (const char* name : {"deep_ep::barrier", "Barrier_V2", "barrier_kernel", "_blockwise_barrier"})
        EXPECT_EQ(KernelFamilies::standard().describe(name).family, KernelFamily::Collective) << name;
    for (const char* name : {"barrier_imbalance(float*, int)", "block_barrier_latency(int*)",
                             "named_barrier_test(float*)", "init_barrier(int*)"})
        EXPECT_EQ(KernelFamilies::standard().describe(name).family, KernelFamily::Other) << name;
}

TEST(KernelFamilies, HostileNamesEndQuickly)
{
    for (const char* part : {"<", "(", "a::", "a<b,", "{lambda", "(anonymous namespace)::", " ", "::"}) {
        std::string name;
        for (int i = 0; i < 20'000; ++i)
            name += part;
        (void)KernelFamilies::standard().describe(name);
    }
}

TEST(KernelFamilies, AnInvalidRuleIsReportedWithItsPosition)
{
    const tilescope::testing::TemporaryFolder folder;
    const auto error = [&](const std::string& text) {
        std::ofstream(folder / "rules.yaml") << text;
        try {
            KernelFamilies::load(folder / "rules.yaml");
        } catch (const Error& caught) {
            return caught.sentence();
        }
        return std::string("no error");
    };
    EXPECT_THAT(error("rules:\n  - {family: matmull}\n"),
                HasSubstr("rules.yaml:2:14: there is no family 'matmull'; did you mean 'matmul'?"));
    EXPECT_THAT(error("rules:\n  - {famly: matmul}\n"), HasSubstr("did you mean 'family'?"));
    EXPECT_THAT(error("rules: [\n"), HasSubstr("rules.yaml:"));
    EXPECT_THROW(KernelFamilies::load(folder / "missing.yaml"), Error);
}

TEST(KernelFamilies, TheFirstRuleThatMatchesDecides)
{
    const tilescope::testing::TemporaryFolder folder;
    std::ofstream(folder / "rules.yaml")
        << "rules:\n"
           "  - {root: alpha, name: beta, family: softmax}\n"
           "  - {root: [alpha, gamma], family: norm, short: first, typed: false}\n"
           "  - {root: alpha, family: copy}\n";
    const KernelFamilies families = KernelFamilies::load(folder / "rules.yaml");
    EXPECT_EQ(families.describe("alpha<float>(beta)").family, KernelFamily::Softmax);
    EXPECT_EQ(families.describe("alpha<float>()").family, KernelFamily::Norm);
    EXPECT_EQ(families.describe("alpha<float>()").shortName, "first");
    EXPECT_EQ(families.describe("gamma()").family, KernelFamily::Norm);
    EXPECT_EQ(families.describe("beta()").family, KernelFamily::Other);
}

TEST(ParseKernelName, LooksThroughTheWrappers)
{
    const auto name = parseKernelName("void at::native::elementwise_kernel<128, 2, "
                                      "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, "
                                      "float, float, at::native::binary_internal::MulFunctor<float> > "
                                      ">(at::TensorIteratorBase&, int const&)"
                                      "::{lambda(int)#1}>(int, int)");
    EXPECT_EQ(name.qualified, "at::native::elementwise_kernel");
    EXPECT_EQ(name.root, "elementwise_kernel");
    EXPECT_EQ(name.subject, "MulFunctor");
    EXPECT_EQ(name.type, "fp32");
}

TEST(ParseKernelName, FindsTheFunctionAroundALambda)
{
    const auto name = parseKernelName(
        "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::silu_kernel("
        "at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#2}::operator()() const::"
        "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, float)");
    EXPECT_EQ(name.subject, "silu_kernel");
    EXPECT_EQ(name.type, "bf16");
}

} // namespace tilescope::analysis
