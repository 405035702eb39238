#include "core/query/timeline/hue.h"

#include "core/analysis/memory/library_frame.h"
#include "core/analysis/work/op_families.h"

#include <algorithm>
#include <array>

namespace tilescope::query {

namespace {

using analysis::KernelFamily;
using analysis::kKernelFamilies;

constexpr std::array<std::string_view, Hue::FirstWait - kKernelFamilies> kWords = {
    "range",         "range",   "range",       "CUDA call", "busy",          "host launching",
    "synchronizing", "tracing", "unexplained", "Python",    "Python library"};

} // namespace

std::string_view hueWord(Hue hue)
{
    const auto index = static_cast<std::size_t>(hue);
    if (hue.isWait())
        return wordOf(static_cast<analysis::HostCause>(index - Hue::FirstWait));
    return hue.isFamily() ? wordOf(KernelFamily(index)) : kWords[index - kKernelFamilies];
}

Hue hueOfFamily(std::string_view family)
{
    for (std::size_t i = 0; i < kKernelFamilies; ++i)
        if (wordOf(KernelFamily(i)) == family)
            return KernelFamily(i);
    return KernelFamily::Other;
}

Hue hueOfOp(std::string_view name)
{
    return analysis::familyOfOp(name);
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
    return analysis::isLibraryFrame(name) ? Hue::LibraryFrame : Hue::Frame;
}

} // namespace tilescope::query
