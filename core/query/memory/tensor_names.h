#pragma once

#include "core/query/memory/memory_history.h"

#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// The content of a block of an attention step, in the letters of the papers: Q, K, V, S (scores), P
/// (weights), O, dO, dP, dS, dQ, dK, dV; also `P * dP`, LSE, and workspaces of single ops.
struct TensorName {
    std::string name = {};  ///< the holder's name if none of these applies; empty: unknown
    std::string shape = {}; ///< [8, 256, 256]; empty: not known
    /// Earlier blocks of the run at (partly) the same addresses, the latest first: the memory that it reuses.
    std::vector<std::uint32_t> reuses = {};
};

/// Names of all blocks of a run, in their order.
///
/// The names follow from what was recorded of each allocation (op, shapes of its operands, range, category),
/// never from an expected size: products before a softmax make scores, those after it the output. Products of
/// backward are distinguished by the shapes of their operands, or by their order if all shapes are equal. A
/// product that allocates another size than that of its result allocates a workspace. Covers modules named
/// attention. O(n log n).
std::vector<TensorName> tensorNames(const MemoryHistory& history);

/// One row of a decomposition.
struct NamedBlock {
    std::uint32_t block = 0; ///< index into the history
    MemoryLife life = {};    ///< that block
    std::string name = {};   ///< empty: not known
    std::string shape = {};
    std::string reuses = {};    ///< names of the blocks that had this memory before in the step
    std::int64_t allocated = 0; ///< by the allocator's count, just after it was allocated
};

/// Blocks by the tensors that they hold.
struct NamedMemory {
    std::shared_ptr<const MemoryHistory> history;
    std::vector<NamedBlock> rows = {};
    /// The moment; none: all blocks of the first traced step in the order of their allocation, those that
    /// were there before first.
    std::optional<std::int64_t> at = {};
    std::int64_t allocated = 0; ///< at that moment, else at the step's peak; the rows' sum and `unknown`
    std::int64_t unknown = 0;   ///< bytes that no block accounts for
};

/// \param at    a time of the history; none: the first traced step
/// \param glob  only blocks allocated in matching ranges; empty: all
NamedMemory namedMemory(std::shared_ptr<const MemoryHistory> history, std::optional<std::int64_t> at,
                        const std::string& glob = {});

} // namespace tilescope::query
