#include "core/engine/parallel/sharded_weights.h"

#include "core/engine/common/set_up.h"
#include "core/engine/parallel/gradient_groups.h"
#include "core/engine/parallel/shard.h"
#include "core/engine/ranks/collectives.h"
#include "core/model/block_name.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <optional>
#include <utility>

namespace tilescope::engine {

namespace {

using at::Tensor;

/// The type of matrices in products under autocast; none: the type of the weights.
std::optional<at::ScalarType> productType(Precision precision)
{
    if (precision == Precision::Bf16 || precision == Precision::Fp8)
        return at::kBFloat16;
    return precision == Precision::Fp16 ? std::optional(at::kHalf) : std::nullopt;
}

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
    void add(ShardedWeight weight) { weights_.push_back(std::move(weight)); }
    std::vector<ShardedWeight>& weights() { return weights_; }
    const std::vector<ShardedWeight>& weights() const { return weights_; }

    /// Starts the gather, unless it was started already.
    void startGather(Ranks& ranks)
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
        gather_ = ranks.allGather(wholes, parts);
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

    void startScatter(Ranks& ranks)
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
        scatter_ = ranks.reduceScatter(sums, wholes);
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
    std::vector<ShardedWeight> weights_;
    bool isGathered_ = false;
    Started gather_;
    Started scatter_; ///< keeps the whole gradients alive
};

class ShardedWeights final : public Parallelism {
public:
    ShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut)
        : ranks_(ranks), cut_(std::move(cut)), matrixType_(productType(spec.precision)),
          groups_(static_cast<std::size_t>(spec.layers) + 2)
    {
    }

    Tensor placed(const std::string& name, const Tensor& whole, const LinearMap* map) override
    {
        ranks_.broadcast(whole.detach(), 0).wait();
        if (!whole.requires_grad())
            return whole; // frozen
        const Tensor weight = cut_ ? cut_(name, whole, map) : whole;
        WeightGroup& group = groupOf(name);
        group.add(
            {name, weight, map ? matrixType_.value_or(weight.scalar_type()) : weight.scalar_type(), ranks_});
        return group.weights().back().whole();
    }

    std::vector<NamedTensor> updated() override
    {
        std::vector<std::vector<Tensor>> groups;
        for (auto group = groups_.rbegin(); group != groups_.rend(); ++group)
            groups.push_back(group->leaves());
        gradients_.emplace(std::move(groups), [this](std::size_t group) { gradientsReady(group); });
        std::vector<NamedTensor> parts;
        eachWeight([&](const ShardedWeight& weight) { parts.push_back({weight.name(), weight.part()}); });
        return parts;
    }

    void beginForward() override
    {
        inBackward_ = false;
        makesGradients_ = at::GradMode::is_enabled();
        groups_.back().startGather(ranks_);
        use(0);
        groups_.back().awaitGather();
    }

    // In backward this is a recomputation.
    Tensor enterBlock(std::int64_t block, const Tensor& x) override
    {
        if (block == 0 && !inBackward_)
            groups_.front().release(); // backward does not read the embedding
        use(groupOf(block));
        return x;
    }

    Tensor leaveBlock(std::int64_t block, const Tensor& x) override
    {
        if (inBackward_)
            return x;
        // In backward, the last block comes first.
        const std::size_t number = groupOf(block);
        if (number + 2 < groups_.size() || !makesGradients_)
            groups_[number].release();
        if (x.requires_grad())
            x.register_hook([this, number](const Tensor& /*gradient*/) { use(number); });
        return x;
    }

    void endForward() override
    {
        if (!makesGradients_)
            groups_.back().release();
    }

    void beginBackward() override
    {
        inBackward_ = true;
        gradients_->reset();
    }

    void finishBackward() override
    {
        gradients_->requireAll();
        for (WeightGroup& group : groups_)
            group.awaitScatter();
    }

    void gradientMade(const Tensor& leaf, Tensor gradient) override
    {
        leaf.mutable_grad() = std::move(gradient);
        gradients_->gradientMade(leaf);
    }

    void dropGradients() override
    {
        // A step that failed or made no gradients leaves gathered weights behind.
        for (WeightGroup& group : groups_)
            group.release();
        eachWeight([](const ShardedWeight& weight) {
            weight.whole().mutable_grad().reset();
            weight.part().mutable_grad().reset();
        });
    }

    void agreeOnOverflow(const Tensor& found) override
    {
        ranks_.allReduce(found).wait();
        found.clamp_max_(1);
    }

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
    WeightGroup& groupOf(const std::string& name)
    {
        if (const std::optional<std::int64_t> block = blockNumber(name))
            return groups_.at(groupOf(*block));
        return name == "embedding" ? groups_.front() : groups_.back();
    }

    static std::size_t groupOf(std::int64_t block) { return static_cast<std::size_t>(block) + 1; }

    /// Waits for the weights of a group and starts the gather of the group that is needed next.
    void use(std::size_t group)
    {
        groups_[group].startGather(ranks_);
        groups_[group].awaitGather();
        const std::size_t next = inBackward_ ? group - 1 : group + 1;
        if (next > 0 && next < groups_.size())
            groups_[next].startGather(ranks_);
    }

    /// Called when backward has made the gradients of a group; groups come from last to first.
    void gradientsReady(std::size_t number)
    {
        const std::size_t made = groups_.size() - 1 - number;
        // The previous sum could run during a whole block's backward. Waiting for it now frees its gradients.
        if (number > 0)
            groups_[made + 1].awaitScatter();
        groups_[made].release();
        groups_[made].startScatter(ranks_);
    }

    template <class Take> void eachWeight(const Take& take) const
    {
        for (const WeightGroup& group : groups_)
            for (const ShardedWeight& weight : group.weights())
                take(weight);
    }

    Ranks& ranks_;
    WeightCut cut_;
    std::optional<at::ScalarType> matrixType_;
    std::vector<WeightGroup> groups_;         ///< the embedding, each block, all other weights
    std::optional<GradientGroups> gradients_; ///< set once all parameters are known
    bool makesGradients_ = false;
    bool inBackward_ = false;
};

} // namespace

std::unique_ptr<Parallelism> makeShardedWeights(const ExperimentSpec& spec, Ranks& ranks, WeightCut cut)
{
    return std::make_unique<ShardedWeights>(spec, ranks, std::move(cut));
}

} // namespace tilescope::engine
