#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// What a part of a change is.
enum class ChangeKind : std::uint8_t {
    Slower,        ///< a kernel (without a GPU an op) that both sides have in this module
    Faster,        ///< likewise
    Gone,          ///< only A has it there
    New,           ///< only B
    Overlap,       ///< work that ran beside other work, or outside of the steps that launched it
    Launching,     ///< the GPU is idle while the host prepares a launch
    Synchronizing, ///< while the host waits for it
    Tracing,       ///< during known work of the tracer
    Unexplained,   ///< for no recorded reason
    OutsideOps,    ///< without a GPU: time that no op took
    Untraced       ///< by which the change of the timed steps differs from that of the traced ones
};

/// slower, faster, gone, new, overlap, launching, …
std::string_view wordOf(ChangeKind kind);

/// A part of the change of a step.
struct ChangePart {
    ChangeKind kind = ChangeKind::Slower;
    std::string module = {}; ///< forward/layers.*/attention; layers count together. Empty outside of modules
    std::string name = {};   ///< of the kernel or op; empty for other kinds
    std::string shortName = {};                                    ///< of a kernel for readers
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< of a kernel
    std::optional<double> a = {}; ///< ns of A's mean traced step; none if A has no such part
    std::optional<double> b = {};
    std::int64_t delta = 0; ///< B - A, ns
};

/// Why a step takes longer or shorter, in parts that add up to the change.
///
/// The mean traced step of each side is the union of its GPU activity and idle time by reason (StepPartition).
/// GPU activity is the sum over kernels less what overlaps. Each difference is one part.
struct StepChange {
    bool onGpu = false;      ///< otherwise parts are the self time of ops
    std::int64_t stepsA = 0; ///< traced steps
    std::int64_t stepsB = 0;
    std::int64_t delta =
        0; ///< sum of the parts: of the timed steps if both sides have some, else of the traced
    bool isOfTimedSteps = false;
    double aligned = 0;       ///< share of the kernel time of both sides that is in modules which both have
    std::string process = {}; ///< "rank 0": the process that the parts are about; empty if there is one
    std::vector<ChangePart> parts = {}; ///< the largest change first; none is 0
};

/// \param deltaNs  change of the timed steps, if it was measured
/// \return         none if a side has no traced steps, or only one has a GPU
std::optional<StepChange> stepChange(const store::RunReader& a, std::span<const RunId> runsA,
                                     const store::RunReader& b, std::span<const RunId> runsB,
                                     std::optional<std::int64_t> deltaNs);

/// The modules with the largest changes in words: `forward/layers.*/attention -83.8 ms: softmax forward is gone
/// (-40.1 ms), flash forward is new (+12 ms)`. At most `most` lines.
std::vector<std::string> causesOf(const StepChange& change, std::size_t most = 3);

/// `forward/layers.*/attention` of `step/forward/layers.3/attention`: numbers at the end of a component are
/// replaced, so that equal layers have one path.
std::string alignedModule(std::string_view path);

} // namespace tilescope::query
