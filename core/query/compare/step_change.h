#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/query/compare/step_alignment.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// The kind of a part of a change.
enum class ChangeKind : std::uint8_t {
    Slower,        ///< a kernel (without a GPU an op) that both sides have in this module
    Faster,        ///< likewise
    Replaced,      ///< B runs other kernels than A in the same place of the step
    Gone,          ///< only A has it there
    New,           ///< only B
    Communication, ///< between processes, while no compute kernel (without a GPU no op) runs
    Copying,       ///< copies and memsets, while no compute kernel and no communication runs
    Overlap,       ///< work that overlapped other work, or ran outside the steps that launched it
    Launching,     ///< the GPU is idle while the host prepares a launch
    Synchronizing, ///< while the host waits for it
    Tracing,       ///< during known work of the tracer
    Unexplained,   ///< a change without a recorded reason
    OutsideOps,    ///< without a GPU: time that neither ops nor collectives took
    Untraced       ///< the difference between the changes of timed and traced steps
};

/// slower, faster, replaced, gone, new, exposed communication, …
std::string_view wordOf(ChangeKind kind);

/// A part of the change of a step.
struct ChangePart {
    ChangeKind kind = ChangeKind::Slower;
    std::string module = {}; ///< forward/layers.*/attention; layers count together. Empty outside of modules.
                             ///< If ops or frames align, those around the kernel
    std::string name = {};   ///< of the kernel, op, collective or copy; empty for other kinds
    std::string shortName = {};                                    ///< of a kernel for readers
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< of a kernel
    std::optional<double> a = {}; ///< ns of A's mean traced step; none if A has no such part
    std::optional<double> b = {};
    std::int64_t delta = 0; ///< B - A, ns
};

/// Why a step takes longer or shorter, in parts that add up to the change.
///
/// The mean traced step of each side consists of GPU activity and idle time by reason (StepPartition). GPU activity
/// is the sum over compute kernels, minus their overlap, plus the exposed time of communication and copies
/// (BusyParts). Each difference is one part. Without traced steps on both sides, the whole recordings are compared.
struct StepChange {
    bool onGpu = false;      ///< otherwise parts are the self time of ops
    bool isWhole = false;    ///< a "step" is the whole recording
    std::int64_t stepsA = 0; ///< traced steps; those of each process count
    std::int64_t stepsB = 0;
    double wallA = 0; ///< of the mean traced step, ns
    double wallB = 0;
    std::int64_t delta =
        0; ///< sum of the parts: of the timed steps if both sides have some, else of the traced
    bool isOfTimedSteps = false;
    AlignedBy alignedBy = AlignedBy::Modules;
    double aligned = 0; ///< share of the time of compute kernels of both sides whose counterpart was found
    std::string process =
        {}; ///< "rank 0", "mean of 2 ranks": what the parts are about; empty if there is one process
    std::vector<ChangePart> parts = {}; ///< the largest change first; none is 0
    /// Bytes by which B allocates more in a step, by module; only if both sides recorded allocations.
    std::map<std::string, std::int64_t> allocated = {};
};

/// \param deltaNs  change of the timed steps, if it was measured
/// \param topology  which process of a run of several; empty: the mean of all
/// \return         none if a side has no events, or only one has a GPU
std::optional<StepChange> stepChange(const store::RunReader& a, std::span<const RunId> runsA,
                                     const store::RunReader& b, std::span<const RunId> runsB,
                                     std::optional<std::int64_t> deltaNs, const ProcessQuery& topology = {});
/// \param a, b  with what stepSide() found for the traced steps of these topology
std::optional<StepChange> stepChange(const AlignedSide& a, const AlignedSide& b,
                                     std::optional<std::int64_t> deltaNs, const ProcessQuery& topology = {});

/// How the parts are aligned, and the share of the time that is aligned, in one sentence.
std::string alignmentSentence(const StepChange& change);

/// The largest changes in words, by module or outside modules: `forward/layers.*/attention -83.8 ms: scores are no
/// longer written to memory (-128 MiB), softmax is fused, softmax forward is gone (-40.1 ms)`, `GPU idle while the host
/// launches -5.91 ms`. At most `most` lines.
std::vector<std::string> causesOf(const StepChange& change, std::size_t most = 3);

} // namespace tilescope::query
