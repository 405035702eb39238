#pragma once

#include "core/model/memory.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::engine {

/// The holders of storages, by address.
using StorageHolders = std::unordered_map<std::uint64_t, HeldStorage>;

/// The address of a tensor's storage; 0 if it has none.
std::uint64_t storageAddress(const at::Tensor& tensor);

struct SavedTensors {
    std::vector<SavedTensor> tensors;
    std::int64_t unreadNodes = 0; ///< nodes whose saved tensors cannot be read
    std::string unreadReason;     ///< reason of the first such node
};

/// The tensors that the nodes of an autograd graph saved for backward, in the order in which forward made the
/// nodes.
///
/// Walks the graph from `root` and collects the tensors of each node; backward is not affected. Storages that
/// several tensors share are marked by sharedWith (numbers count from `first`). Storages in `holders` get
/// their names and categories from there. Call while a tracer records: paths come from its logs.
/// \param root  output or loss; the result is empty if it has no graph
SavedTensors savedTensors(const at::Tensor& root, const StorageHolders& holders, std::int64_t first = 0);

/// A tensor that a step without an autograd graph keeps for backward.
struct KeptTensor {
    std::string path; ///< step/forward/layers.3/ffn
    std::string op;
    at::Tensor tensor;
};
/// The list of tensors that such a step keeps.
SavedTensors savedTensors(const std::vector<KeptTensor>& kept, const StorageHolders& holders,
                          std::int64_t first = 0);

} // namespace tilescope::engine
