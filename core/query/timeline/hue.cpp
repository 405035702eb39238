#include "core/query/timeline/hue.h"

#include "core/analysis/work/op_families.h"

#include <algorithm>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;

// The first hues are the kernel families in the same order.
static_assert(kFamilyCount == analysis::kKernelFamilies);
static_assert(Hue(KernelFamily::Matmul) == Hue::Matmul && Hue(KernelFamily::Attention) == Hue::Attention &&
              Hue(KernelFamily::Softmax) == Hue::Softmax && Hue(KernelFamily::Norm) == Hue::Norm &&
              Hue(KernelFamily::Elementwise) == Hue::Elementwise &&
              Hue(KernelFamily::Reduction) == Hue::Reduction &&
              Hue(KernelFamily::Embedding) == Hue::Embedding &&
              Hue(KernelFamily::Optimizer) == Hue::Optimizer && Hue(KernelFamily::Copy) == Hue::Copy &&
              Hue(KernelFamily::Memset) == Hue::Memset && Hue(KernelFamily::Collective) == Hue::Collective &&
              Hue(KernelFamily::Other) == Hue::Other);

constexpr std::array<std::string_view, kHueCount - kFamilyCount> kWords = {
    "range",         "range",   "range",       "CUDA call", "busy",          "host launching",
    "synchronizing", "tracing", "unexplained", "Python",    "Python library"};

} // namespace

std::string_view hueWord(Hue hue)
{
    const auto place = std::size_t(hue);
    return place < kFamilyCount ? wordOf(KernelFamily(place)) : kWords[place - kFamilyCount];
}

Hue hueOfFamily(std::string_view family)
{
    for (std::size_t i = 0; i < kFamilyCount; ++i)
        if (wordOf(KernelFamily(i)) == family)
            return Hue(i);
    return Hue::Other;
}

Hue hueOf(analysis::KernelFamily family)
{
    return static_cast<Hue>(family);
}

Hue hueOfOp(std::string_view name)
{
    return hueOf(analysis::familyOfOp(name));
}

Hue hueOfRange(std::string_view path)
{
    const std::size_t at = path.rfind("attention");
    if (at == std::string_view::npos)
        return Hue::Range;
    const std::string_view below = path.substr(at + std::string_view("attention").size());
    if (below.empty())
        return Hue::RangeAttention;
    const bool core = below == "/scores" || below == "/softmax" || below == "/output" || below == "/flash" ||
                      below == "/sdpa";
    return core ? Hue::RangeAttentionInner : Hue::Range;
}

Hue hueOfFrame(std::string_view name)
{
    // Profilers shorten the paths of installed packages to begin with the package, or leave them whole.
    constexpr std::string_view kInstalled[] = {"site-packages/", "dist-packages/", "lib/python", "<frozen "};
    const bool isBuiltIn = name.starts_with("<built-in") || name.starts_with("torch/");
    const bool isInstalled = std::ranges::any_of(
        kInstalled, [name](std::string_view part) { return name.find(part) != std::string_view::npos; });
    return isBuiltIn || isInstalled ? Hue::LibraryFrame : Hue::Frame;
}

} // namespace tilescope::query
