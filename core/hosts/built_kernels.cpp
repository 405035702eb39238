#include "core/hosts/built_kernels.h"

#include <charconv>
#include <optional>
#include <utility>

namespace tilescope::hosts {

namespace {

using Capability = std::pair<int, int>;

constexpr Capability kFirst{8, 0}; ///< the oldest GPUs that a kernel serves
constexpr Capability kAda{8, 9};   ///< code for it runs on it alone
constexpr Capability kHopper{9, 0};
constexpr Capability kAfterHopper{9, 1}; ///< from here on PTX of 9.0 is built, which newer GPUs compile

std::optional<Capability> parseCapability(std::string_view text)
{
    const char* const end = text.data() + text.size();
    Capability found;
    const auto major = std::from_chars(text.data(), end, found.first);
    if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.')
        return {};
    const auto minor = std::from_chars(major.ptr + 1, end, found.second);
    return minor.ec == std::errc() && minor.ptr == end ? std::optional(found) : std::nullopt;
}

/// Whether code that was built for one GPU runs on another (cmake/TilescopeKernelSet.cmake).
bool serves(Capability built, Capability gpu)
{
    if (built < kAda)
        return built >= kFirst && gpu.first == kFirst.first;
    if (built < kHopper)
        return gpu == kAda;
    if (built < kAfterHopper)
        return gpu.first == kHopper.first;
    return gpu >= kHopper;
}

} // namespace

std::string builtKernels()
{
    return TILESCOPE_BUILT_KERNELS;
}

std::string whyKernelsDoNotServe(std::string_view set, std::string_view capability)
{
    const auto gpu = parseCapability(capability);
    if (!gpu)
        return {}; // nvidia-smi of an old driver does not say it
    const std::string name(capability);
    if (*gpu < kFirst)
        return "Tilescope's CUDA kernels begin at compute capability 8.0, and this GPU has " + name;
    if (set == "all")
        return {};
    if (set == "small")
        return "this build has only the small set of CUDA kernels: bf16 up to head dim 128";
    std::string_view rest = set;
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const auto built = parseCapability(rest.substr(0, comma));
        if (built && serves(*built, *gpu))
            return {};
        rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    }
    return "the CUDA kernels of this build are for compute capability " + std::string(set) +
           ", and this GPU has " + name;
}

} // namespace tilescope::hosts
