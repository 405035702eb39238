#include "core/analysis/steps/start_cause.h"

#include "core/analysis/time/data_loading.h"

#include <algorithm>
#include <span>
#include <utility>

namespace tilescope::analysis {

namespace {

using namespace std::string_view_literals;

struct Words {
    StartCause cause;
    std::string_view part; ///< of the name
};

constexpr std::array kNames{
    Words{StartCause::Tuning, "benchmark_all_configs"},
    Words{StartCause::Tuning, "autotune"},
    Words{StartCause::Tuning, "Autotun"},
    Words{StartCause::Tuning, "cudnnFind"},
    Words{StartCause::Compilation, "compile_inner"},
    Words{StartCause::Compilation, "entire_frame_compile"},
    Words{StartCause::Compilation, "backend_compile"},
    Words{StartCause::Compilation, "inductor_compile"},
    Words{StartCause::Compilation, "compile_fx"},
    Words{StartCause::Compilation, "dynamo/convert_frame"},
    Words{StartCause::Compilation, "triton/compiler/"},
    Words{StartCause::Compilation, "GraphLowering."},
    Words{StartCause::Compilation, "PyCodeCache."},
    Words{StartCause::Compilation, "AsyncCompile."},
    Words{StartCause::Compilation, "async_compile."},
    Words{StartCause::Compilation, "XlaCompile"},
    Words{StartCause::Compilation, "PjRtCompile"},
    Words{StartCause::Compilation, "PjitFunction compile"},
    Words{StartCause::Compilation, "nvrtcCompile"},
    Words{StartCause::Initialisation, "cuInit"},
    Words{StartCause::Initialisation, "cuCtxCreate"},
    Words{StartCause::Initialisation, "PrimaryCtxRetain"},
    Words{StartCause::Initialisation, "cudaInitDevice"},
    Words{StartCause::ModuleLoading, "ModuleLoad"},
    Words{StartCause::ModuleLoading, "LibraryLoad"},
    Words{StartCause::ModuleLoading, "ModuleGetFunction"},
    Words{StartCause::ModuleLoading, "LibraryGetKernel"},
    Words{StartCause::ModuleLoading, "cudaFuncGetAttributes"},
    Words{StartCause::ModuleLoading, "cudaGetFuncBySymbol"},
    Words{StartCause::ModuleLoading, "cudaFuncSetAttribute"},
    Words{StartCause::Allocation, "cudaMalloc"},
    Words{StartCause::Allocation, "cudaHostAlloc"},
    Words{StartCause::Allocation, "cuMemAlloc"},
    Words{StartCause::Allocation, "cuMemCreate"},
    Words{StartCause::Allocation, "cuMemHostAlloc"},
};

/// Calls that initialise CUDA if they are the first ones.
constexpr std::array kFirstCalls{
    "cudaFree"sv,         "cudaSetDevice"sv,         "cudaGetDeviceCount"sv, "cudaGetDeviceProperties"sv,
    "cudaStreamCreate"sv, "cudaDeviceSynchronize"sv, "cudaDeviceGet"sv};

} // namespace

std::string_view nounOf(StartCause cause)
{
    constexpr std::array<std::string_view, kStartCauses> kNouns{"compilation",         "choice of kernels",
                                                                "CUDA initialisation", "loading of kernels",
                                                                "allocation",          "data loading"};
    return kNouns[static_cast<std::size_t>(cause)];
}

std::string_view verbOf(StartCause cause, bool ofSeveral)
{
    constexpr std::array<std::pair<std::string_view, std::string_view>, kStartCauses> kVerbs{
        {{"compiles", "compile"},
         {"times kernels to choose among them", "time kernels to choose among them"},
         {"initialises CUDA", "initialise CUDA"},
         {"loads kernels", "load kernels"},
         {"allocates memory", "allocate memory"},
         {"loads data", "load data"}}};
    const auto& [one, several] = kVerbs[static_cast<std::size_t>(cause)];
    return ofSeveral ? several : one;
}

StartCause startCauseOf(std::string_view name, bool isFirst)
{
    if (isFirst &&
        std::ranges::any_of(kFirstCalls, [name](std::string_view call) { return name.starts_with(call); }))
        return StartCause::Initialisation;
    const auto* const found = std::ranges::find_if(
        kNames, [name](const Words& words) { return name.find(words.part) != std::string_view::npos; });
    if (found != kNames.end())
        return found->cause;
    return loadsData(name) ? StartCause::DataLoading : kNoStartCause;
}

} // namespace tilescope::analysis
