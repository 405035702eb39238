#pragma once

#include "core/predict/suggest.h"
#include "core/query/memory/memory_history.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// Why a run was out of memory.
struct OomReport {
    store::RunRecord run = {};
    OomInfo info = {};
    // From the step that was run once more to see it; absent where that did not run out, or no memory was
    // recorded.
    std::string path = {}; ///< range that asked
    std::string op = {};   ///< op that asked
    std::optional<Bytes> asked = {};
    std::optional<Bytes> allocated = {};
    std::optional<Bytes> reserved = {};
    std::optional<Bytes> largestFree = {};   ///< block; none on a CPU, whose allocator keeps none
    std::optional<Bytes> fragmentation = {}; ///< lost to rounding, and free between blocks
    std::optional<Bytes> deviceFree = {};    ///< by the driver's word
    std::shared_ptr<const MemoryHistory> history = {};
    std::vector<std::uint32_t> holders = {};                       ///< the ten largest blocks of the history
    std::vector<std::pair<MemoryCategory, Bytes>> categories = {}; ///< what was allocated, the most first

    std::vector<predict::Suggestion> suggestions = {}; ///< what would fit, by the predictor's word

    /// Whether what was free among the reserved would have done, had it been one block. None where it is not
    /// known.
    std::optional<bool> fragmentationIsToBlame() const;
};

/// \throws Error  no such run
OomReport oomReport(const store::RunReader& reader, std::optional<RunId> run);

} // namespace tilescope::query
