#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope::analysis {

/// What makes a step take longer than others, or delays the first one.
enum class StartCause : std::uint8_t {
    Compilation,    ///< by torch.compile, Triton, XLA, NVRTC
    Tuning,         ///< kernels are timed to choose among them
    Initialisation, ///< of CUDA
    ModuleLoading,  ///< kernels are loaded onto the device
    Allocation,     ///< the driver allocates or frees memory
    DataLoading,
};
inline constexpr std::size_t kStartCauses = 6;

/// "compilation", "CUDA initialisation", …
std::string_view nounOf(StartCause cause);
/// What the step does: "compiles", or of several steps "compile".
std::string_view verbOf(StartCause cause, bool ofSeveral);

/// The cause that a CUDA call, op, range or frame stands for, by its name; kStartCauses as a number if none.
/// A name that every step has, such as that of a compiled region, stands for none.
/// \param isFirst  of calls: before the first work of the process, when any call may initialise CUDA
StartCause startCauseOf(std::string_view name, bool isFirst = false);
inline constexpr auto kNoStartCause = static_cast<StartCause>(kStartCauses);

} // namespace tilescope::analysis
