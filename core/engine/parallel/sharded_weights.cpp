#include "core/engine/parallel/sharded_weights.h"

#include "core/engine/common/autocast.h"
#include "core/engine/common/set_up.h"
#include "core/engine/parallel/gradient_groups.h"
#include "core/engine/parallel/shard.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/weight_shards.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// A weight: this rank's part, and the whole weight, which has memory only while it is in use.
class ShardedWeight {
public:
    /// \param type  element type of the whole weight
    ShardedWeight(std::string name, const Tensor& weight, at::ScalarType type, const Ranks& ranks)
        : name_(std::move(name)), layout_{.elements = weight.numel(), .ranks = ranks.size()},
          rank_(ranks.rank())
    {
        {
            const Making making(MemoryCategory::Parameters, name_);
            part_ = partOf(padded(flatView(weight.detach()), layout_), layout_, rank_).clone();
        }
        memory_ = at::empty({layout_.padded()}, weight.options().dtype(type).requires_grad(false));
        whole_ = memory_.as_strided(weight.sizes(), weight.strides()).detach().set_requires_grad(true);
        release();
    }

    const std::string& name() const { return name_; }
    const Tensor& part() const { return part_; }
    const Tensor& whole() const { return whole_; } ///< the leaf that the model uses
    const Tensor& memory() const { return memory_; }

    /// Allocates the memory of the whole weight; its contents are undefined.
    void acquire()
    {
        c10::StorageImpl& storage = *memory_.storage().unsafeGetStorageImpl();
        const std::size_t bytes = static_cast<std::size_t>(layout_.padded()) * memory_.element_size();
        storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes));
        storage.set_nbytes(bytes);
    }
    void release()
    {
        c10::StorageImpl& storage = *memory_.storage().unsafeGetStorageImpl();
        storage.set_data_ptr_noswap(storage.allocator()->allocate(0));
        storage.set_nbytes(0);
    }
    bool isAcquired() const { return memory_.storage().nbytes() > 0; }

    /// This rank's part, converted to the type of the whole.
    Tensor contribution() const { return part_.to(memory_.scalar_type()); }

    /// Moves out the gradient of the whole: a padded vector of its elements in the type of the part.
    Tensor takeGradient() const
    {
        const Tensor gradient = std::exchange(whole_.mutable_grad(), Tensor());
        return padded(flatView(gradient).to(part_.scalar_type()), layout_);
    }
    /// Allocates the gradient of the part.
    Tensor makePartGradient() const { return part_.mutable_grad() = at::empty_like(part_); }

private:
    std::string name_;
    ShardLayout layout_;
    int rank_;
    Tensor part_;
    Tensor memory_;
    Tensor whole_; ///< a view of memory_
};

/// The weights that are gathered together.
class WeightGroup {
public:
    explicit WeightGroup(Ranks& ranks) : ranks_(ranks) {}

    void add(ShardedWeight weight) { weights_.push_back(std::move(weight)); }
    std::vector<ShardedWeight>& weights() { return weights_; }
    const std::vector<ShardedWeight>& weights() const { return weights_; }

    /// Starts the gather, unless it was started already.
    void startGather()
    {
        if (isGathered_ || weights_.empty())
            return;
        isGathered_ = true;
        const at::NoGradGuard noGrad;
        std::vector<Tensor> wholes;
        std::vector<Tensor> parts;
        for (ShardedWeight& weight : weights_) {
            weight.acquire();
            wholes.push_back(weight.memory());
            parts.push_back(weight.contribution());
        }
        gather_ = ranks_.allGather(wholes, parts);
    }

    void awaitGather() { gather_.wait(); }

    void release()
    {
        if (!isGathered_)
            return;
        gather_.wait();
        isGathered_ = false;
        for (ShardedWeight& weight : weights_)
            weight.release();
    }

    void startScatter()
    {
        if (weights_.empty()) // frozen
            return;
        const at::NoGradGuard noGrad;
        std::vector<Tensor> wholes;
        std::vector<Tensor> sums;
        for (const ShardedWeight& weight : weights_) {
            wholes.push_back(weight.takeGradient());
            sums.push_back(weight.makePartGradient());
        }
        scatter_ = ranks_.reduceScatter(sums, wholes);
    }

    void awaitScatter() { scatter_.wait(); }

    std::vector<Tensor> leaves() const
    {
        std::vector<Tensor> leaves;
        for (const ShardedWeight& weight : weights_)
            leaves.push_back(weight.whole());
        return leaves;
    }

private:
    Ranks& ranks_;
    std::vector<ShardedWeight> weights_;
    bool isGathered_ = false;
    Started gather_;
    Started scatter_; ///< keeps the whole gradients alive
};

class ShardedWeights final : public Parallelism {
public:
    ShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut)
        : ranks_(ranks), cut_(std::move(cut)),
          matrixType_(spec.precision == Precision::Fp8 ? at::kBFloat16 : autocastDtype(spec.precision)),
          schedule_(spec.layers, ranks)
    {
    }

    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* map) override
    {
        ranks_.broadcast(whole.detach(), 0).wait();
        if (!whole.requires_grad())
            return whole; // frozen
        const Tensor weight = cut_ ? cut_(name, whole, map) : whole;
        WeightGroup& group = schedule_.groupOf(name);
        group.add(
            {name, weight, map ? matrixType_.value_or(weight.scalar_type()) : weight.scalar_type(), ranks_});
        return group.weights().back().whole();
    }

    std::vector<NamedTensor> updated() override
    {
        gradients_.emplace(schedule_.leaves(),
                           [this](std::size_t group) { schedule_.gradientsReady(group); });
        std::vector<NamedTensor> parts;
        eachWeight([&](const ShardedWeight& weight) { parts.push_back({weight.name(), weight.part()}); });
        return parts;
    }

    void beginForward() override { schedule_.beginForward(at::GradMode::is_enabled()); }
    Tensor enterBlock(std::int64_t block, const Tensor& x) override
    {
        schedule_.enterBlock(block);
        return x;
    }
    Tensor leaveBlock(std::int64_t block, const Tensor& x) override
    {
        if (schedule_.leaveBlock(block) && x.requires_grad())
            x.register_hook([this, block](const Tensor& /*gradient*/) { schedule_.useBlock(block); });
        return x;
    }
    void endForward() override { schedule_.endForward(); }
    void beginBackward() override
    {
        schedule_.beginBackward();
        gradients_->reset();
    }
    void finishBackward() override
    {
        gradients_->requireAll();
        schedule_.finishBackward();
    }

    void gradientMade(const Tensor& leaf, Tensor gradient) override
    {
        leaf.mutable_grad() = std::move(gradient);
        gradients_->gradientMade(leaf);
    }

    void dropGradients() override
    {
        // A step that failed or made no gradients leaves gathered weights behind.
        schedule_.eachGroup([](WeightGroup& group) { group.release(); });
        eachWeight([](const ShardedWeight& weight) {
            weight.whole().mutable_grad().reset();
            weight.part().mutable_grad().reset();
        });
    }

    void agreeOnOverflow(const Tensor& found) override { agree(ranks_, found); }

    void visitHeld(const HoldVisitor& visit) const override
    {
        eachWeight([&](const ShardedWeight& weight) {
            visit(MemoryCategory::Parameters, weight.name(), weight.part());
            visit(MemoryCategory::Gradients, weight.name(), weight.part().grad());
            if (weight.isAcquired())
                visit(MemoryCategory::Parameters, weight.name() + " gathered", weight.memory());
        });
    }

private:
    template <class Take> void eachWeight(const Take& take) const
    {
        for (const WeightGroup& group : schedule_.groups())
            for (const ShardedWeight& weight : group.weights())
                take(weight);
    }

    Ranks& ranks_;
    WeightCut cut_;
    std::optional<at::ScalarType> matrixType_;
    ShardSchedule<WeightGroup> schedule_;
    std::optional<GradientGroups> gradients_; ///< set once all parameters are known
};

} // namespace

std::unique_ptr<Parallelism> makeShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut)
{
    return std::make_unique<ShardedWeights>(spec, ranks, std::move(cut));
}

} // namespace tilescope::engine
