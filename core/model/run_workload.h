#pragma once

#include <string_view>

namespace tilescope {

/// The properties of runs that depend on their workload. Runs of the workloads of a spec have the defaults.
struct RunWorkload {
    std::string_view name = {};
    /// A run of another program: no spec and no timed steps.
    bool isImported = false;
    /// Tables of kernels and ops cover the whole recording; otherwise the traced steps.
    bool coversRecording = false;
    /// Holds no steps, kernels or ops.
    bool isMemoryOnly = false;
    /// Paths of allocations are call stacks; otherwise ranges.
    bool pathsAreStacks = false;
    /// Sizes of blocks are as requested; "allocated" in PyTorch includes rounding.
    bool countsRequested = false;

    /// The word for the bytes of its blocks.
    constexpr std::string_view heldWord() const { return countsRequested ? "requested" : "allocated"; }
};

/// A recording of another program.
inline constexpr RunWorkload kTraceWorkload{.name = "trace", .isImported = true, .coversRecording = true};
/// A memory snapshot of another program.
inline constexpr RunWorkload kSnapshotWorkload{.name = "snapshot",
                                               .isImported = true,
                                               .isMemoryOnly = true,
                                               .pathsAreStacks = true,
                                               .countsRequested = true};
inline constexpr RunWorkload kSpecWorkload{};

/// \param name  RunRecord::workload
constexpr const RunWorkload& runWorkload(std::string_view name)
{
    for (const RunWorkload* imported : {&kTraceWorkload, &kSnapshotWorkload})
        if (imported->name == name)
            return *imported;
    return kSpecWorkload;
}

} // namespace tilescope
