#pragma once

#include "core/predict/suggest.h"
#include "core/query/memory/memory_history.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// A change that makes a run fit.
struct FittingChange : predict::Suggestion {
    std::optional<double> stepSeconds = {}; ///< predicted; none if the file has no ceilings of the device

    /// The memory that it needs: reserved on a GPU, allocated on a CPU.
    Bytes peak() const { return peakReserved.value_or(peakAllocated); }
};

/// Why a run was out of memory.
struct OomReport {
    store::RunRecord run = {};
    std::string phase = {}; ///< in which it ended
    // From the recorded repetition of the step, otherwise as the failing step reported them.
    std::optional<Bytes> asked = {};
    std::optional<Bytes> allocated = {};
    std::optional<Bytes> reserved = {};
    // From the recorded repetition of the step; absent if that did not run out of memory, or memory was not
    // recorded.
    std::string path = {};                   ///< range that requested the memory
    std::string op = {};                     ///< op that requested the memory
    std::optional<Bytes> largestFree = {};   ///< block; none on a CPU, which has no caching allocator
    std::optional<Bytes> fragmentation = {}; ///< lost to rounding, and free between blocks
    std::optional<Bytes> deviceFree = {};    ///< as the driver reports it
    std::shared_ptr<const MemoryHistory> history = {};
    std::vector<std::uint32_t> holders = {};                       ///< the ten largest blocks of the history
    std::vector<std::pair<MemoryCategory, Bytes>> categories = {}; ///< allocated bytes, the largest first

    std::optional<Bytes> limit = {};             ///< of the memory; none on a CPU without memory_limit
    std::optional<Bytes> needed = {};            ///< predicted: reserved on a GPU, allocated on a CPU
    std::vector<FittingChange> suggestions = {}; ///< what would fit, by the predictor's word

    /// Whether the reserved free memory would have sufficed as a single block. None if unknown.
    std::optional<bool> fragmentationIsToBlame() const;
};

/// \throws Error  no such run
OomReport oomReport(const store::RunReader& reader, std::optional<RunId> run);

} // namespace tilescope::query
