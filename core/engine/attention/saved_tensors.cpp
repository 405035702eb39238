#include "core/engine/attention/saved_tensors.h"

#include "core/engine/common/failure.h"
#include "core/trace/host/node_path.h"
#include "core/trace/host/tensor_text.h"
#include "kernels/torch/saved_by_attention.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <unordered_set>

namespace tilescope::engine {
namespace {

using torch::autograd::Node;
using torch::dynamo::autograd::AutogradCompilerCall;
using torch::dynamo::autograd::CompiledNodeArgs;
using torch::dynamo::autograd::SizeInput;

/// All nodes with saved tensors, in the order in which forward made them.
std::vector<Node*> nodesOf(const at::Tensor& root)
{
    std::vector<Node*> nodes;
    std::unordered_set<Node*> seen;
    std::vector<Node*> open;
    const auto visit = [&](Node* node) {
        // The AccumulateGrad node refers to the parameter itself.
        if (node && seen.insert(node).second && !dynamic_cast<torch::autograd::AccumulateGrad*>(node))
            open.push_back(node);
    };
    visit(root.defined() ? root.grad_fn().get() : nullptr);
    while (!open.empty()) {
        Node* node = open.back();
        open.pop_back();
        nodes.push_back(node);
        for (const torch::autograd::Edge& edge : node->next_edges())
            visit(edge.function.get());
    }
    std::ranges::sort(nodes, {}, [](const Node* node) { return node->sequence_nr(); });
    return nodes;
}

/// Converts `FusedRmsNorm` to fused_rms_norm.
std::string snakeCase(std::string_view name)
{
    std::string text;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        if (std::isupper(c) != 0 && i > 0 && std::isupper(static_cast<unsigned char>(name[i - 1])) == 0 &&
            name[i - 1] != '_')
            text += '_';
        text += static_cast<char>(std::tolower(c));
    }
    return text;
}

/// The op of a node by its name: MmBackward0 is aten::mm, AttentionBackward is tilescope::attention, and
/// torch::autograd::CppNode<tilescope::engine::(anonymous namespace)::SwiGlu> is tilescope::swi_glu.
std::string opOf(const Node& node)
{
    const std::string full = node.name();
    std::string_view name = full;
    const std::size_t inner = name.find('<');
    const bool templated = inner != std::string_view::npos;
    const bool custom = templated || name == kernels::kAttentionNode;
    if (templated) {
        name = name.substr(inner + 1);
        name = name.substr(0, name.rfind('>'));
    }
    if (const std::size_t scope = name.rfind("::"); scope != std::string_view::npos)
        name = name.substr(scope + 2);
    if (const std::size_t suffix = name.rfind("Backward"); suffix != std::string_view::npos && suffix > 0)
        name = name.substr(0, suffix);
    if (const std::size_t suffix = name.rfind("Function"); custom && suffix != std::string_view::npos)
        name = name.substr(0, suffix);
    return (custom ? "tilescope::" : "aten::") + snakeCase(name);
}

/// The name of an unnamed tensor: the op that made it.
std::string originOf(const at::Tensor& tensor, const Node* holder)
{
    const Node* maker = tensor.grad_fn().get();
    if (!maker)
        return "of no op with a gradient";
    return maker == holder ? "own output" : "of " + opOf(*maker);
}

/// The distinct tensors that a node saved.
std::vector<at::Tensor> heldBy(Node& node, SavedTensors& saved)
{
    // The autograd API for this is intended for compiled graphs. Nodes that cannot be compiled throw.
    try {
        if (auto tensors = kernels::savedByAttention(node))
            return std::move(*tensors);
        AutogradCompilerCall call(SizeInput::STATIC);
        CompiledNodeArgs args(call, call.node_calls.lookup(node.getptr()));
        node.compiled_args(args);
        return std::move(call.tensor_args.inputs);
    } catch (const c10::Error& error) {
        if (saved.unreadNodes++ == 0)
            saved.unreadReason = opOf(node) + ": " + condensed(error.what_without_backtrace());
        return {};
    }
}

} // namespace

std::uint64_t storageAddress(const at::Tensor& tensor)
{
    if (!tensor.defined() || !tensor.has_storage())
        return 0;
    return reinterpret_cast<std::uintptr_t>(tensor.storage().data());
}

namespace {

/// Appends tensors to a list. Of several tensors with one storage, the first counts its bytes.
class SavedTensorList {
public:
    SavedTensorList(const StorageHolders& holders, std::int64_t first) : holders_(holders), first_(first) {}

    /// \param name  used if the tensor has no holder
    void add(const KeptTensor& kept, const std::string& name)
    {
        const std::uint64_t address = storageAddress(kept.tensor);
        if (address == 0)
            return;
        SavedTensor entry{.path = kept.path,
                          .op = kept.op,
                          .tensor = name,
                          .shape = trace::shapeText(kept.tensor),
                          .dtype = trace::dtypeText(kept.tensor.scalar_type()),
                          .bytes = static_cast<std::int64_t>(kept.tensor.nbytes()),
                          .address = address,
                          .storageBytes = static_cast<std::int64_t>(kept.tensor.storage().nbytes())};
        if (const auto holder = holders_.find(address); holder != holders_.end()) {
            entry.tensor = holder->second.name;
            entry.category = holder->second.category;
        }
        const auto number = first_ + static_cast<std::int64_t>(saved_.tensors.size());
        if (const auto [counts, isNew] = counted_.try_emplace(address, number); !isNew)
            entry.sharedWith = counts->second;
        saved_.tensors.push_back(std::move(entry));
    }

    SavedTensors& saved() { return saved_; }

    SavedTensors take()
    {
        const Timestamp now = TraceClock::now();
        for (SavedTensor& entry : saved_.tensors)
            entry.time = now;
        return std::move(saved_);
    }

private:
    const StorageHolders& holders_;
    std::int64_t first_;
    SavedTensors saved_;
    std::unordered_map<std::uint64_t, std::int64_t>
        counted_; // by storage: index of the tensor that counts it
};

} // namespace

SavedTensors savedTensors(const at::Tensor& root, const StorageHolders& holders, std::int64_t first)
{
    SavedTensorList list(holders, first);
    for (Node* node : nodesOf(root)) {
        const std::string path = trace::pathCreating(node->thread_id(), node->sequence_nr());
        for (const at::Tensor& tensor : heldBy(*node, list.saved()))
            if (tensor.defined())
                list.add({path, opOf(*node), tensor}, originOf(tensor, node));
    }
    return list.take();
}

SavedTensors savedTensors(const std::vector<KeptTensor>& kept, const StorageHolders& holders,
                          std::int64_t first)
{
    SavedTensorList list(holders, first);
    for (const KeptTensor& tensor : kept)
        list.add(tensor, "of " + tensor.op);
    return list.take();
}

} // namespace tilescope::engine
