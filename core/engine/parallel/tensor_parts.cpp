#include "core/engine/parallel/tensor_parts.h"

#include "core/engine/common/annotation.h"
#include "core/engine/common/set_up.h"
#include "core/engine/parallel/sharded_weights.h"
#include "core/engine/ranks/collectives.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/custom_function.h>

namespace tilescope::engine {

namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The identity in forward. Its gradient is summed over the ranks.
struct IntoParts : torch::autograd::Function<IntoParts> {
    static Tensor forward(AutogradContext* context, const Tensor& x, Ranks* ranks)
    {
        context->saved_data["ranks"] = reinterpret_cast<std::int64_t>(ranks);
        return x;
    }
    static variable_list backward(AutogradContext* context, variable_list gradients)
    {
        auto* ranks = reinterpret_cast<Ranks*>(context->saved_data["ranks"].toInt());
        // A product has just made this gradient for this node alone, so it may be changed.
        const Tensor gradient = gradients[0].contiguous();
        ranks->allReduce(gradient).wait();
        return {gradient, Tensor()};
    }
};

/// The sum over the ranks. Each term gets the gradient of the sum.
struct SumOfParts : torch::autograd::Function<SumOfParts> {
    static Tensor forward(AutogradContext* /*context*/, const Tensor& y, Ranks* ranks)
    {
        ranks->allReduce(y).wait(); // y was made for this node alone, so it may be changed
        return y;
    }
    static variable_list backward(AutogradContext* /*context*/, variable_list gradients)
    {
        return {gradients[0], Tensor()};
    }
};

/// Combines both kinds: the ranks form a grid, and each belongs to the groups of its row and its column.
class TensorParts final : public Parallelism {
public:
    explicit TensorParts(Ranks& ranks) : ranks_(ranks) {}

    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* map) override
    {
        ranks_.broadcast(whole.detach(), 0).wait();
        Tensor part = whole;
        if (map) {
            const Making making(MemoryCategory::Parameters, name);
            part = cutOut(whole.detach(), *map, ranks_.rank(), ranks_.size()).set_requires_grad(true);
        }
        weights_.push_back({name, part});
        return part;
    }

    Tensor intoParts(const Tensor& x) override
    {
        const NamedOp op("tilescope::into_parts");
        return at::GradMode::is_enabled() ? IntoParts::apply(x, &ranks_) : x;
    }

    Tensor sumOfParts(const Tensor& y) override
    {
        const NamedOp op("tilescope::sum_of_parts");
        if (at::GradMode::is_enabled())
            return SumOfParts::apply(y, &ranks_);
        ranks_.allReduce(y).wait();
        return y;
    }

    std::vector<NamedTensor> updated() override { return weights_; }

    void dropGradients() override
    {
        for (const NamedTensor& weight : weights_)
            weight.tensor.mutable_grad().reset();
    }

    void agreeOnOverflow(const Tensor& found) override { agree(ranks_, found); }

    void visitHeld(const HoldVisitor& visit) const override
    {
        for (const auto& [name, tensor] : weights_) {
            visit(MemoryCategory::Parameters, name, tensor);
            visit(MemoryCategory::Gradients, name, tensor.grad());
        }
    }

private:
    Ranks& ranks_;
    std::vector<NamedTensor> weights_;
};

std::vector<int> everyNth(int first, int step, int count)
{
    std::vector<int> members;
    for (int i = 0; i < count; ++i)
        members.push_back(first + i * step);
    return members;
}

/// Weights are cut like those of TensorParts and then divided like those of makeShardedWeights().
class ShardedParts final : public Parallelism {
public:
    ShardedParts(const ExperimentSpec& spec, Ranks& ranks)
        : ranks_(ranks), grid_(gridOf(spec)),
          row_(ranks.part(everyNth(grid_.dataOf(ranks.rank()) * grid_.tensor, 1, grid_.tensor),
                          c10::str("row ", grid_.dataOf(ranks.rank())))),
          column_(ranks.part(everyNth(grid_.tensorOf(ranks.rank()), grid_.tensor, grid_.data),
                             c10::str("column ", grid_.tensorOf(ranks.rank())))),
          layers_(makeTensorParts(*row_)),
          weights_(makeShardedWeights(
              spec, *column_, [this](const std::string& /*name*/, const Tensor& whole, const LinearMap* map) {
                  row_->broadcast(whole.detach(), 0).wait();
                  return map ? cutOut(whole.detach(), *map, row_->rank(), row_->size()) : whole;
              }))
    {
    }

    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* map) override
    {
        return weights_->placed(name, whole, map);
    }
    Tensor enterBlock(std::int64_t block, const Tensor& x) override { return weights_->enterBlock(block, x); }
    Tensor leaveBlock(std::int64_t block, const Tensor& x) override { return weights_->leaveBlock(block, x); }
    Tensor intoParts(const Tensor& x) override { return layers_->intoParts(x); }
    Tensor sumOfParts(const Tensor& y) override { return layers_->sumOfParts(y); }
    void beginForward() override { weights_->beginForward(); }
    void endForward() override { weights_->endForward(); }
    void beginBackward() override { weights_->beginBackward(); }
    void finishBackward() override { weights_->finishBackward(); }
    void dropGradients() override { weights_->dropGradients(); }
    std::vector<NamedTensor> updated() override { return weights_->updated(); }
    void agreeOnOverflow(const Tensor& found) override { agree(ranks_, found); }
    void visitHeld(const HoldVisitor& visit) const override { weights_->visitHeld(visit); }

private:
    Ranks& ranks_;
    const RankGrid grid_;
    std::unique_ptr<Ranks> row_;
    std::unique_ptr<Ranks> column_;
    std::unique_ptr<Parallelism> layers_;
    std::unique_ptr<Parallelism> weights_;
};

} // namespace

std::unique_ptr<Parallelism> makeTensorParts(Ranks& ranks)
{
    return std::make_unique<TensorParts>(ranks);
}

std::unique_ptr<Parallelism> makeShardedParts(const ExperimentSpec& spec, Ranks& ranks)
{
    return std::make_unique<ShardedParts>(spec, ranks);
}

at::Tensor cutOut(const at::Tensor& weight, const LinearMap& map, int part, int parts)
{
    if (map.division == LinearMap::Division::None)
        return weight;
    const bool byColumns = map.division == LinearMap::Division::Columns;
    const std::int64_t dimension = byColumns ? 1 : 0;
    std::vector<Tensor> pieces;
    for (const Tensor& packed : weight.chunk(byColumns ? map.packed : 1, dimension)) {
        const std::int64_t width = packed.size(dimension) / parts;
        pieces.push_back(packed.narrow(dimension, part * width, width));
    }
    // Stored transposed, like whole weights.
    return at::cat(pieces, dimension).t().contiguous().t();
}

} // namespace tilescope::engine
