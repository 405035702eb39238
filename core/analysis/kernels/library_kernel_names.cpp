#include "core/analysis/kernels/kernel_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace tilescope::analysis {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos)
            return parts;
        text.remove_prefix(at + 1);
    }
}

bool isTile(std::string_view text)
{
    const std::size_t x = text.find('x');
    return x != std::string_view::npos && x > 0 && x + 1 < text.size() &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == 'x'; });
}

void append(std::string& text, std::string_view word)
{
    if (word.empty())
        return;
    if (!text.empty())
        text += ' ';
    text += word;
}

/// nvjet_sm90_tst_128x64_64x8_1x2_h_bz_splitK_TNT: types of inputs, accumulator and output; tile; depth and
/// stages; cluster; …; layouts.
std::string nvjetName(std::string_view root)
{
    const auto parts = split(root, '_');
    std::string text = "nvjet gemm";
    if (parts.size() > 2) {
        const char type = parts[2].empty() ? ' ' : parts[2].front();
        append(text, type == 't'   ? "bf16"
                     : type == 'h' ? "fp16"
                     : type == 'q' ? "fp8"
                     : type == 's' ? "fp32"
                     : type == 'd' ? "fp64"
                                   : parts[2]);
    }
    if (parts.size() > 4 && isTile(parts[3]))
        append(text, std::string(parts[3]) + "x" + std::string(parts[4].substr(0, parts[4].find('x'))));
    append(text, parts.back());
    if (root.find("splitK") != std::string_view::npos)
        append(text, "split-K");
    return text;
}

/// The type in an xmma name: f32f32_tf32f32_f32 multiplies in tf32.
std::string_view xmmaType(std::string_view root)
{
    if (root.find("tf32") != std::string_view::npos)
        return "tf32";
    if (root.find("bf16") != std::string_view::npos)
        return "bf16";
    if (root.find("e4m3") != std::string_view::npos || root.find("e5m2") != std::string_view::npos)
        return "fp8";
    return root.find("f16") != std::string_view::npos ? "fp16" : "fp32";
}

/// sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_…_execute_split_k_kernel__5x_cublas
std::string xmmaName(std::string_view root)
{
    std::string text = root.find("fprop") != std::string_view::npos   ? "xmma convolution"
                       : root.find("dgrad") != std::string_view::npos ? "xmma convolution data gradient"
                       : root.find("wgrad") != std::string_view::npos ? "xmma convolution weight gradient"
                                                                      : "xmma gemm";
    append(text, xmmaType(root));
    constexpr std::string_view tile = "tilesize";
    for (const std::string_view part : split(root, '_'))
        if (part.starts_with(tile))
            append(text, part.substr(tile.size()));
    for (const std::string_view layout : {"_nn_n_", "_nt_n_", "_tn_n_", "_tt_n_"})
        if (root.find(layout) != std::string_view::npos)
            append(text, layout.substr(1, 2));
    if (root.find("split_k") != std::string_view::npos)
        append(text, "split-K");
    return text;
}

/// cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4, cutlass_80_simt_sgemm_256x128_8x4_nt_align1
std::string cutlassName(std::string_view subject)
{
    std::string text = "cutlass gemm";
    const bool half = subject.find("h16816") != std::string_view::npos ||
                      subject.find("f16_s16816") != std::string_view::npos;
    append(text, subject.find("bf16") != std::string_view::npos          ? "bf16"
                 : half                                                  ? "fp16"
                 : subject.find("_simt_sgemm") != std::string_view::npos ? "fp32"
                 : subject.find("s1688") != std::string_view::npos       ? "tf32"
                 : subject.find("dgemm") != std::string_view::npos       ? "fp64"
                                                                         : "");
    const auto parts = split(subject, '_');
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        if (isTile(parts[i]) && isTile(parts[i + 1])) {
            append(text,
                   std::string(parts[i]) + "x" + std::string(parts[i + 1].substr(0, parts[i + 1].find('x'))));
            if (i + 2 < parts.size() && parts[i + 2].size() == 2)
                append(text, parts[i + 2]);
            break;
        }
    return text;
}

/// cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<shape, CollectiveMma<MainloopSm90…<stages, cluster, …>,
/// cute::tuple<cute::C<128>, cute::C<128>, cute::C<64>>, …>>>: architecture and tile of CUTLASS 3 and 4.
std::string universalGemmName(const KernelName& name)
{
    std::string text = "cutlass gemm";
    append(text, name.type);
    const std::string_view full = name.arguments.empty() ? std::string_view() : name.arguments.front();
    constexpr std::string_view kMainloop = "MainloopSm";
    const std::size_t mainloop = full.find(kMainloop);
    if (mainloop == std::string_view::npos)
        return text;
    const std::string_view after = full.substr(mainloop + kMainloop.size());
    append(text, "sm" + std::string(after.substr(0, after.find_first_not_of("0123456789"))));
    // The tile is the tuple of constants after the main loop's own arguments.
    int depth = 0;
    std::size_t at = after.find('<');
    for (; at < after.size(); ++at) {
        depth += after[at] == '<' ? 1 : after[at] == '>' ? -1 : 0;
        if (depth == 0)
            break;
    }
    at = after.find("tuple<", std::min(at, after.size()));
    if (at == std::string_view::npos)
        return text;
    std::string tile;
    for (std::string_view rest = after.substr(at); rest.find("C<") < rest.find(">>");) {
        rest.remove_prefix(rest.find("C<") + 2);
        if (rest.starts_with("(int)"))
            rest.remove_prefix(5);
        tile += (tile.empty() ? "" : "x") + std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
        if (rest.substr(rest.find('>') + 1, 1) != ",")
            break;
    }
    append(text, tile);
    return text;
}

/// The type of the inputs: HHS, BBS, SB, F8BS, …
std::string_view tensileType(std::string_view types)
{
    struct Type {
        std::string_view prefix;
        std::string_view word;
    };
    static constexpr std::array kTypes{Type{"F8", "fp8"},  Type{"B8", "fp8"},  Type{"I8", "int8"},
                                       Type{"BB", "bf16"}, Type{"BS", "bf16"}, Type{"H", "fp16"},
                                       Type{"S", "fp32"},  Type{"D", "fp64"}};
    const auto* type =
        std::ranges::find_if(kTypes, [types](const Type& each) { return types.starts_with(each.prefix); });
    return type == kTypes.end() ? std::string_view() : type->word;
}

/// Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE_…: indices of A and B in memory order, where l is the
/// summed index; types of inputs, output and sums; tile. Cijk_S_PostGSU4_VW4 adds up the partial sums of such
/// a kernel.
std::string tensileName(std::string_view root)
{
    std::string text = "Tensile gemm";
    const auto parts = split(root, '_');
    if (parts.size() > 3 && parts[1].starts_with('A') && parts[2].starts_with('B')) {
        append(text, tensileType(parts[3]));
        for (const std::string_view part : parts)
            if (part.starts_with("MT") && isTile(part.substr(2)))
                append(text, part.substr(2));
        append(text, std::string(parts[1].starts_with("Al") ? "t" : "n") +
                         (parts[2].starts_with("Bl") ? "n" : "t"));
    }
    if (root.find("PostGSU") != std::string_view::npos)
        append(text, "split-K sum");
    return text;
}

/// fmha_cutlassF_f32_aligned_64x64_rf_sm80, fmha_cutlassB_bf16_aligned_64x64_k32_seqaligned_sm80
std::string efficientAttentionName(std::string_view root)
{
    std::string text = "efficient attention";
    append(text, root.find("cutlassB") != std::string_view::npos ? "backward" : "forward");
    append(text, root.find("_bf16_") != std::string_view::npos  ? "bf16"
                 : root.find("_f16_") != std::string_view::npos ? "fp16"
                                                                : "fp32");
    for (const std::string_view part : split(root, '_'))
        if (isTile(part))
            append(text, part);
    return text;
}

/// pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 128, 128, …>>: the
/// first three arguments of the traits are head dim and tile.
std::string flashAttentionName(const KernelName& name)
{
    struct Part {
        std::string_view root;
        std::string_view words;
    };
    static constexpr std::array kParts{
        Part{"flash_fwd_splitkv_combine", "flash attention combine"},
        Part{"flash_fwd_splitkv", "flash attention forward split-KV"},
        Part{"flash_fwd", "flash attention forward"},
        Part{"flash_bwd_dot_do_o", "flash attention backward row sums"},
        Part{"flash_bwd_convert_dq", "flash attention backward convert dQ"},
        Part{"flash_bwd_convert_dkv", "flash attention backward convert dK dV"},
        Part{"flash_bwd", "flash attention backward"},
    };
    const auto part = std::find_if(kParts.begin(), kParts.end(),
                                   [&name](const Part& p) { return name.root.starts_with(p.root); });
    if (part == kParts.end())
        return {};
    std::string text(part->words);
    append(text, name.type);
    for (const std::string_view argument : name.arguments) {
        const std::size_t open = argument.find("kernel_traits<");
        if (open == std::string_view::npos)
            continue;
        const auto numbers = split(argument.substr(open + 14), ',');
        constexpr std::string_view kCast = "(int)"; // as Nsight Systems writes arguments
        if (numbers.size() > 2)
            append(text,
                   "d" + std::string(numbers[0].substr(numbers[0].starts_with(kCast) ? kCast.size() : 0)));
        break;
    }
    return text;
}

/// cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_…;
/// cudnn::fusion::compute_dot_do_o<…>
std::string cudnnName(const KernelName& name)
{
    if (name.qualified.starts_with("cudnn::fusion::"))
        return "cudnn attention " + std::string(name.root.starts_with("compute_dot_do_o")
                                                    ? "backward row sums"
                                                : name.root.starts_with("convert_dq") ? "backward convert dQ"
                                                                                      : name.root);
    std::string text = "cudnn";
    append(text, name.root.find("sdpa") != std::string_view::npos ? "attention" : "fused");
    append(text, name.root.find("bprop") != std::string_view::npos   ? "backward"
                 : name.root.find("fprop") != std::string_view::npos ? "forward"
                                                                     : "");
    for (const std::string_view part : split(name.root, '_'))
        if (isTile(part)) {
            append(text, part);
            break;
        }
    return text;
}

/// The first op of the list. Ops are joined by underscores, which also occur within op names, so ops of
/// several words must be listed here.
std::string_view tritonOp(std::string_view ops)
{
    static constexpr std::array<std::string_view, 24> kLongNames{"prepare_softmax_online",
                                                                 "native_layer_norm_backward",
                                                                 "embedding_dense_backward",
                                                                 "native_layer_norm",
                                                                 "softmax_backward_data",
                                                                 "log_softmax_backward_data",
                                                                 "nll_loss_backward",
                                                                 "nll_loss_forward",
                                                                 "threshold_backward",
                                                                 "slice_backward",
                                                                 "select_backward",
                                                                 "gelu_backward",
                                                                 "silu_backward",
                                                                 "log_softmax",
                                                                 "masked_fill",
                                                                 "bitwise_not",
                                                                 "scalar_tensor",
                                                                 "index_select",
                                                                 "unsafe_view",
                                                                 "slice_scatter",
                                                                 "native_dropout",
                                                                 "logical_not",
                                                                 "zeros_like",
                                                                 "to_copy"};
    for (const std::string_view name : kLongNames)
        if (ops.starts_with(name) && (ops.size() == name.size() || ops[name.size()] == '_'))
            return ops.substr(0, name.size());
    return ops.substr(0, ops.find('_'));
}

/// triton_per_fused_add_mean_mul_pow_rsqrt_0: kind, fused ops, number.
std::string tritonName(std::string_view root)
{
    struct Kind {
        std::string_view prefix;
        std::string_view words;
    };
    static constexpr std::array kKinds{
        Kind{"triton_poi_fused_", "triton"},         Kind{"triton_per_fused_", "triton reduce"},
        Kind{"triton_red_fused_", "triton reduce"},  Kind{"triton_tem_fused_", "triton"},
        Kind{"triton_for_fused_", "triton foreach"}, Kind{"triton_", "triton"}};
    const auto kind = std::find_if(kKinds.begin(), kKinds.end(),
                                   [root](const Kind& k) { return root.starts_with(k.prefix); });
    std::string text(kind->words);
    std::string_view ops = root.substr(kind->prefix.size());
    const auto skipJoints = [&ops] { ops.remove_prefix(std::min(ops.size(), ops.find_first_not_of('_'))); };
    for (skipJoints(); !ops.empty(); skipJoints()) {
        const std::string_view op = tritonOp(ops);
        ops.remove_prefix(op.size());
        const bool isNumber = std::all_of(op.begin(), op.end(),
                                          [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
        // Views cost nothing and are omitted.
        static constexpr std::array<std::string_view, 12> kViews{"unsafe_view",
                                                                 "view",
                                                                 "transpose",
                                                                 "expand",
                                                                 "slice",
                                                                 "select",
                                                                 "squeeze",
                                                                 "unsqueeze",
                                                                 "permute",
                                                                 "t",
                                                                 "prepare_softmax_online",
                                                                 "split"};
        if (!isNumber && std::find(kViews.begin(), kViews.end(), op) == kViews.end()) {
            append(text, op);
            std::replace(text.begin(), text.end(), '_', ' ');
        }
    }
    return text;
}

} // namespace

std::string libraryShortName(const KernelName& name)
{
    const std::string_view root = name.root;
    if (name.qualified.starts_with("tilescope::")) {
        std::string text = "tilescope " + subjectWords(root);
        append(text, name.type);
        return text;
    }
    if (root.starts_with("nvjet_"))
        return nvjetName(root);
    if (root.starts_with("Cijk_"))
        return tensileName(root);
    if (root.find("xmma_") != std::string_view::npos)
        return xmmaName(root);
    if (name.subject.starts_with("cutlass_") && name.subject.find("gemm") != std::string_view::npos)
        return cutlassName(name.subject);
    if (name.subject.starts_with("GemmUniversal"))
        return universalGemmName(name);
    if (root.starts_with("fmha_cutlass"))
        return efficientAttentionName(root);
    if (name.qualified.find("flash::") != std::string_view::npos && root.starts_with("flash_"))
        return flashAttentionName(name);
    if (root.starts_with("cudnn_generated") || name.qualified.starts_with("cudnn::fusion::"))
        return cudnnName(name);
    if (root.starts_with("triton_"))
        return tritonName(root);
    return {};
}

std::string subjectWords(std::string_view subject)
{
    constexpr std::array<std::string_view, 3> prefixes{"CUDAFunctorOnSelf_", "CUDAFunctor_", "cunn_"};
    constexpr std::array<std::string_view, 12> suffixes{
        "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel", "CUDAKernelImpl", "CUDAKernel",
        "KernelImpl",   "_functor",     "Functor",      "Ops",     "_cuda_out",      "Kernel"};
    for (const std::string_view prefix : prefixes)
        if (subject.starts_with(prefix) && subject.size() > prefix.size())
            subject.remove_prefix(prefix.size());
    for (const std::string_view suffix : suffixes)
        if (subject.ends_with(suffix) && subject.size() > suffix.size())
            subject.remove_suffix(suffix.size());
    std::string words;
    for (std::size_t i = 0; i < subject.size(); ++i) {
        const auto character = static_cast<unsigned char>(subject[i]);
        const bool isLower =
            i + 1 < subject.size() && std::islower(static_cast<unsigned char>(subject[i + 1]));
        const bool beginsWord = i > 0 && std::isupper(character) &&
                                std::isalpha(static_cast<unsigned char>(subject[i - 1])) &&
                                (std::islower(static_cast<unsigned char>(subject[i - 1])) || isLower);
        if (beginsWord)
            words += ' ';
        words += subject[i] == '_' ? ' ' : static_cast<char>(std::tolower(character));
    }
    words.erase(0, words.find_first_not_of(' '));
    return words;
}

} // namespace tilescope::analysis
