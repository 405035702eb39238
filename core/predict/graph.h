#pragma once

#include "core/model/spec.h"
#include "core/predict/memory.h"

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

namespace tilescope::predict {

enum class Type : std::uint8_t { Float32, Float16, BFloat16, Float8, Complex64, Int64, Int32, Bool };
std::int64_t bytesOf(Type type);
/// The type to which autocast converts the factors of products; none if autocast is off.
std::optional<Type> autocastType(Precision precision);

/// The destination of a tensor's gradient: an output of a node, a leaf, or none.
struct Origin {
    static constexpr std::int32_t kNowhere = -1;
    std::int32_t node = kNowhere;
    std::int32_t output = 0;
    std::int32_t leaf = kNowhere;

    bool needsGradient() const { return node != kNowhere || leaf != kNowhere; }
};

/// A tensor without values: the memory that it holds, and where its gradient goes.
struct Tensor {
    Storage storage = {};
    std::int64_t count = 0; ///< number of elements
    Type type = Type::Float32;
    Origin origin = {};
    bool isExpanded = false;   ///< a single value, expanded
    bool isTransposed = false; ///< not contiguous in the order of its dimensions

    std::int64_t bytes() const { return count * bytesOf(type); }
    explicit operator bool() const { return count != 0; }
};

/// The maximum number of inputs or outputs of a node.
inline constexpr std::size_t kArity = 3;
using Tensors = std::array<Tensor, kArity>;

/// Gradients of leaves, kept until they are dropped.
struct Leaves {
    std::vector<Tensor> gradients;
    /// Called with the number of a leaf whose gradient is complete; may take it. Empty: nobody.
    std::function<void(std::int32_t leaf)> accumulated = {};
};

/// Models the memory use of autograd: nodes save what backward needs. Backward runs them from last to first
/// and frees the gradients of each, then its saved tensors. Multiple gradients of a tensor are accumulated in
/// place.
class Graph {
public:
    /// Computes gradients of the inputs from those of the outputs. Its captures are the saved tensors of the
    /// node.
    using Backward = std::function<Tensors(const Tensors&)>;

    explicit Graph(Memory& memory) : memory_(memory) {}

    /// Adds a node.
    /// \param saved  saved for backward; their category becomes activations
    /// \return       the origin of its first output
    Origin record(std::initializer_list<Origin> inputs, std::initializer_list<const Tensor*> saved,
                  Backward backward);

    /// Runs backward from a tensor. Each node runs once; the graph is empty afterwards.
    void run(const Tensor& root, Tensor gradient, Leaves& leaves);
    /// Frees all nodes and their saved tensors.
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
