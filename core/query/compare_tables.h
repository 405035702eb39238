#pragma once

#include "core/analysis/comparison.h"
#include "core/query/memory_difference.h"
#include "core/store/run_reader.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// One side of a comparison.
struct ComparedRun {
    std::string file = {};
    store::RunRecord run = {};
};

/// A phase's wall or GPU time over the timed steps, in ms.
struct ComparedTime {
    Phase phase = Phase::Step;
    bool onGpu = false; ///< between CUDA events; else the host's wall
    analysis::SeriesDifference difference = {};
};

struct ComparedMemory {
    std::string what = {}; ///< peak_allocated, peak_reserved, before_backward
    std::optional<Bytes> a = {};
    std::optional<Bytes> b = {};
};

/// A fact that the runs do not share: a parameter, or something about the machine.
struct ComparedFact {
    std::string key = {};
    std::string a = {}; ///< empty where the run has no such fact
    std::string b = {};
};

/// One row of kernels, ops, families or ranges, with what a reader wants to know of it.
struct ComparedGroup {
    analysis::GroupDifference difference = {};
    std::string shortName = {}; ///< of kernels
    std::string family = {};    ///< of kernels
};

/// Run B against run A.
struct Comparison {
    ComparedRun a = {};
    ComparedRun b = {};
    analysis::ComparisonOptions options = {};
    std::vector<ComparedFact> parameters = {};
    std::vector<ComparedFact> environment = {};
    std::vector<ComparedTime> times = {}; ///< the step first; those that both runs measured
    std::vector<ComparedMemory> memory = {};
    std::optional<MemoryDifference> held = {}; ///< only where it was asked for: memoryDifference()
    std::vector<ComparedGroup> families = {};  ///< none unless both ran on a GPU
    std::vector<ComparedGroup> kernels = {};   ///< ops where neither ran on a GPU
    std::vector<ComparedGroup> ranges = {};
    bool opsForKernels = false;

    /// The step's wall; none where either run timed fewer than two steps.
    const analysis::SeriesDifference* step() const;
};

/// Compares two runs, of one file or of two. Reads samples, and the events of the traced steps.
///
/// Other runs of the files that repeat A or B (one spec but for name, seed and timeout, on one device) tell
/// how much repeats differ. A and B themselves are never repeats of each other: whether they differ is the
/// question. \param options    none: with what the repeats tell \param runA, runB  none: the file's last.
/// \throws Error  no such run
Comparison compare(const store::RunReader& a, std::optional<RunId> runA, const store::RunReader& b,
                   std::optional<RunId> runB, std::optional<analysis::ComparisonOptions> options = {});

} // namespace tilescope::query
