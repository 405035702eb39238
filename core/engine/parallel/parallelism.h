#pragma once

#include "core/engine/common/held_tensors.h"
#include "core/model/language_model.h"
#include "core/model/parallelism.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::engine {

class Ranks;

/// A tensor with the name of its parameter: layers.3/ffn/down.
struct NamedTensor {
    std::string name;
    at::Tensor tensor;
};

/// How the ranks of a step share the model, its gradients and its optimizer. Together, they compute the step that one
/// process would compute with the sequences of all batches. Session thread, and autograd's thread during backward.
/// \throws LostRank (failure.h)  from most calls
class Parallelism {
public:
    virtual ~Parallelism() = default;
    Parallelism() = default;
    Parallelism(const Parallelism&) = delete;
    Parallelism& operator=(const Parallelism&) = delete;

    /// The parameter that the model uses in place of the leaf `whole`. Called once per parameter, in the order of the
    /// model. A weight without requires_grad is frozen: it gets the values of rank 0 and takes part in nothing else.
    /// \param map  the linear map of a matrix; null: an embedding or a norm
    virtual at::Tensor placed(const std::string& name, const at::Tensor& whole, const LinearMap* map) = 0;

    // Called around parts of the model; each returns the activations with which the model continues.
    virtual at::Tensor enterBlock(std::int64_t /*block*/, const at::Tensor& x) { return x; }
    virtual at::Tensor leaveBlock(std::int64_t /*block*/, const at::Tensor& x) { return x; }
    /// Called before a product with a weight that is divided by columns, and after one with a weight divided by rows.
    virtual at::Tensor intoParts(const at::Tensor& x) { return x; }
    virtual at::Tensor sumOfParts(const at::Tensor& y) { return y; }

    // Called around the phases of a step.
    virtual void beginForward() {}
    virtual void endForward() {}
    virtual void beginBackward() {}
    /// After this call, the gradients of updated() are those of the whole batch.
    virtual void finishBackward() {}
    /// A model without autograd calls this when the gradient of a leaf is complete, in place of autograd's hook.
    virtual void gradientMade(const at::Tensor& leaf, at::Tensor gradient);
    /// Called after the optimizer has changed updated(). Gives every rank the weights that it keeps.
    virtual void finishUpdate() {}
    virtual void dropGradients() = 0;

    /// The tensors that this rank's optimizer updates from their gradients. Call after the last placed().
    virtual std::vector<NamedTensor> updated() = 0;
    /// Sets `found` (0 or 1) to 1 on every rank if it is 1 on any rank.
    virtual void agreeOnOverflow(const at::Tensor& /*found*/) {}
    virtual void visitHeld(const HoldVisitor& visit) const = 0;

protected:
    /// agreeOnOverflow() of a parallelism whose ranks update different tensors.
    static void agree(Ranks& ranks, const at::Tensor& found);
};

/// The parallelism of `spec.parallel`.
/// \param ranks  must outlive the result
std::unique_ptr<Parallelism> makeParallelism(const ExperimentSpec& spec, Ranks& ranks);

} // namespace tilescope::engine
