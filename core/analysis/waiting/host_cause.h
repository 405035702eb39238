#pragma once

#include "core/model/host_samples.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// What the host did while a GPU was idle.
enum class HostCause : std::uint8_t {
    Python,   ///< Python, or what it calls in C and C++ where that is not known
    Native,   ///< C or C++ that a line of Python calls, such as PyTorch
    Backward, ///< evaluates the graph of the backward pass, in threads of C++
    Optimizer,
    DataLoading,
    Compilation,       ///< by torch.compile or Triton
    Logging,           ///< Python's logging, progress bars, trackers of experiments
    Import,            ///< of modules of Python
    GarbageCollection, ///< Python looks for cycles of objects
    InterpreterLock,   ///< waits until another thread lets Python's interpreter go
    Allocator,         ///< in a call that takes memory from the driver or returns it
    CudaCalls,         ///< in another call into CUDA that does not wait for the GPU, such as a launch
    Synchronization,   ///< in a call that waits for the GPU
    OtherRanks,        ///< waits for another process of torch.distributed
    OffCore,           ///< waits for a lock, a thread or a file
    OtherProcesses,    ///< could run, and had no core
    Launching,         ///< has launched; the work had not started
    Queued,            ///< had launched before: the work waited for other work
    Unexplained,       ///< not sampled, or not recorded
};
inline constexpr std::size_t kHostCauses = static_cast<std::size_t>(HostCause::Unexplained) + 1;

/// The word of a cause in tables.
std::string_view wordOf(HostCause cause);
/// The cause of that word; none for another word.
std::optional<HostCause> hostCauseOf(std::string_view word);

/// The cause of time in a call into CUDA.
/// \param call  cudaMalloc
HostCause causeOfCall(std::string_view call, bool synchronizes);

/// Causes of samples by their stacks. Immutable; any thread.
class HostCauses {
public:
    explicit HostCauses(std::span<const HostStack> stacks);

    HostCause of(const HostSample& sample) const;

private:
    std::vector<HostCause> causes_; ///< of a thread that has a core, by stack
};

/// A call on a stack in words: the parts of HostStack::function.
struct FunctionParts {
    std::string_view file;
    std::string_view name;
    std::int64_t firstLine = 0; ///< of the function; 0: unknown
};
FunctionParts partsOf(std::string_view function);

/// The innermost calls of the program itself, rather than of a library, by stack; where there is none, the stack itself.
std::vector<std::uint32_t> programCalls(std::span<const HostStack> stacks);
/// The innermost calls of Python, by stack: the stack itself, or the caller of an op, which has no file.
std::vector<std::uint32_t> pythonCalls(std::span<const HostStack> stacks);

} // namespace tilescope::analysis
