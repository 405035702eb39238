#include "core/predict/graph.h"

#include <algorithm>

namespace tilescope::predict {

std::int64_t bytesOf(Type type)
{
    switch (type) {
    case Type::Complex64:
    case Type::Int64:
        return 8;
    case Type::Float32:
    case Type::Int32:
        return 4;
    case Type::Float16:
    case Type::BFloat16:
        return 2;
    case Type::Float8:
    case Type::Bool:
        return 1;
    }
    return 4;
}

std::optional<Type> autocastType(Precision precision)
{
    if (precision == Precision::Bf16)
        return Type::BFloat16;
    return precision == Precision::Fp16 ? std::optional(Type::Float16) : std::nullopt;
}

Origin Graph::record(std::initializer_list<Origin> inputs, std::initializer_list<const Tensor*> saved,
                     Backward backward)
{
    // Parameters and inputs keep their category when a node saves them.
    for (const Tensor* tensor : saved)
        if (tensor->origin.leaf == Origin::kNowhere)
            memory_.recategorize(tensor->storage, MemoryCategory::Activations);
    Node& node = nodes_.emplace_back();
    std::ranges::copy(inputs, node.inputs.begin());
    node.backward = std::move(backward);
    return {.node = static_cast<std::int32_t>(nodes_.size() - 1)};
}

void Graph::run(const Tensor& root, Tensor gradient, Leaves& leaves)
{
    deliver(root.origin, std::move(gradient), leaves);
    // A node's consumers were recorded after it, so in reverse order all its gradients are complete.
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        Node& node = nodes_[i];
        if (!node.isWanted) {
            node.backward = nullptr;
            continue;
        }
        Tensors outputs = std::move(node.gradients);
        Tensors results = node.backward(outputs);
        outputs = {};
        node.backward = nullptr;
        for (std::size_t input = 0; input < kArity; ++input)
            if (results[input])
                deliver(nodes_[i].inputs[input], std::move(results[input]), leaves);
    }
    nodes_.clear();
}

void Graph::deliver(const Origin& to, Tensor gradient, Leaves& leaves)
{
    if (to.node != Origin::kNowhere) {
        Node& node = nodes_[to.node];
        node.isWanted = true;
        accumulate(node.gradients[to.output], std::move(gradient));
        return;
    }
    if (to.leaf == Origin::kNowhere)
        return;
    Tensor& kept = leaves.gradients[to.leaf];
    // A gradient with the layout of its parameter and no other owner is kept; any other is copied.
    if (gradient.isTransposed || gradient.isExpanded || gradient.storage.isShared()) {
        Tensor copy = gradient;
        copy.storage =
            memory_.make(gradient.bytes(), MemoryCategory::Gradients, "gradient, in its own order");
        copy.isTransposed = copy.isExpanded = false;
        gradient = std::move(copy);
    }
    memory_.recategorize(gradient.storage, MemoryCategory::Gradients);
    kept = std::move(gradient);
    if (leaves.accumulated)
        leaves.accumulated(to.leaf);
}

void Graph::accumulate(Tensor& sum, Tensor gradient)
{
    if (!sum) {
        sum = std::move(gradient);
        return;
    }
    // In place if only this node owns the first gradient; otherwise into a new tensor.
    if (!sum.isExpanded && !sum.storage.isShared())
        return;
    sum.storage = memory_.make(sum.bytes(), MemoryCategory::Temporaries, "sum of two gradients");
    sum.isExpanded = false;
}

} // namespace tilescope::predict
