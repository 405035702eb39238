#pragma once

#include "core/model/memory.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::engine {

/// Who holds a storage, by its address.
using StorageHolders = std::unordered_map<std::uint64_t, HeldStorage>;

/// Where a tensor's storage lies; 0 where it has none.
std::uint64_t storageAddress(const at::Tensor& tensor);

struct SavedTensors {
    std::vector<SavedTensor> tensors;
    std::int64_t unreadNodes = 0; ///< that did not say what they hold
    std::string unreadReason;     ///< the first one's
};

/// What the nodes of an autograd graph hold for their backward, in the order in which forward made the nodes.
///
/// Walks the graph from `root` and lets each node hand over its tensors; backward works as before. Storages
/// that several tensors share are marked by sharedWith (numbers count from `first`). Names and categories of
/// storages that `holders` knows are theirs. Call while a tracer records: paths come from its logs.
/// \param root  output or loss; nothing where it has no graph
SavedTensors savedTensors(const at::Tensor& root, const StorageHolders& holders, std::int64_t first = 0);

} // namespace tilescope::engine
