#pragma once

#include "core/predict/memory.h"

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <vector>

namespace tilescope::predict {

enum class Type : std::uint8_t { Float32, Float16, BFloat16, Complex64, Int64, Int32, Bool };
std::int64_t bytesOf(Type type);

/// Where the gradient of a tensor goes: to an output of a node, to a leaf, or nowhere.
struct Origin {
    static constexpr std::int32_t kNowhere = -1;
    std::int32_t node = kNowhere;
    std::int32_t output = 0;
    std::int32_t leaf = kNowhere;

    bool needsGradient() const { return node != kNowhere || leaf != kNowhere; }
};

/// A tensor without numbers: the memory that it holds, and where its gradient goes.
struct Tensor {
    Storage storage = {};
    std::int64_t count = 0; ///< values
    Type type = Type::Float32;
    Origin origin = {};
    bool isExpanded = false;   ///< one value that stands for all
    bool isTransposed = false; ///< its values do not lie in the order of its dimensions

    std::int64_t bytes() const { return count * bytesOf(type); }
    explicit operator bool() const { return count != 0; }
};

/// The most inputs or outputs of a node.
inline constexpr std::size_t kArity = 3;
using Tensors = std::array<Tensor, kArity>;

/// Gradients of leaves, as parameters keep them until they are dropped.
struct Leaves {
    std::vector<Tensor> gradients;
};

/// What autograd does with memory: nodes hold what backward needs, backward runs them from the last to the
/// first, each lets go of its gradients and then of what it held, and gradients that meet are added in place.
class Graph {
public:
    /// Gradients of the inputs from those of the outputs. What it captured is what the node holds.
    using Backward = std::function<Tensors(const Tensors&)>;

    explicit Graph(Memory& memory) : memory_(memory) {}

    /// Adds a node.
    /// \param saved  what `backward` holds: counts as activations from now on
    /// \return       the origin of its first output
    Origin record(std::initializer_list<Origin> inputs, std::initializer_list<const Tensor*> saved,
                  Backward backward);

    /// Runs backward from a tensor. Each node runs once; the graph is empty afterwards.
    void run(const Tensor& root, Tensor gradient, Leaves& leaves);
    /// Lets go of all nodes and what they hold.
    void clear() { nodes_.clear(); }

private:
    struct Node {
        std::array<Origin, kArity> inputs{};
        Tensors gradients{};
        Backward backward;
        bool isWanted = false;
    };

    void deliver(const Origin& to, Tensor gradient, Leaves& leaves);
    void accumulate(Tensor& sum, Tensor gradient);

    Memory& memory_;
    std::vector<Node> nodes_;
};

} // namespace tilescope::predict
