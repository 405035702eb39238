#include "core/predict/parallel_memory.h"

#include "core/model/gradient_groups.h"
#include "core/model/parallelism.h"
#include "core/model/weight_shards.h"

#include <optional>
#include <utility>

namespace tilescope::predict {

namespace {

/// A weight of which the rank keeps a part; the whole has memory only while it is in use.
struct ShardedWeight {
    ShardLayout layout;
    Type type = Type::Float32; ///< of the whole
    std::int32_t leaf = 0;
    Storage kept = {};
    Storage whole = {};
    Storage gradient = {}; ///< of the part
};

/// The weights that are gathered together.
class WeightGroup {
public:
    WeightGroup(Ops& ops, Leaves& leaves) : ops_(ops), leaves_(leaves) {}

    void add(ShardedWeight weight) { weights_.push_back(std::move(weight)); }
    const std::vector<ShardedWeight>& weights() const { return weights_; }
    void dropGradients()
    {
        for (ShardedWeight& weight : weights_)
            weight.gradient = {};
    }

    void startGather()
    {
        if (std::exchange(isGathered_, true))
            return;
        for (ShardedWeight& weight : weights_) {
            weight.whole = ops_.memory().make(weight.layout.padded() * bytesOf(weight.type),
                                              MemoryCategory::Parameters, "gathered weight");
            if (weight.type != Type::Float32)
                contributions_.push_back(
                    ops_.temporary(weight.layout.part() * bytesOf(weight.type), "part of a weight, cast"));
        }
    }

    void awaitGather() { contributions_.clear(); }

    void release()
    {
        if (!std::exchange(isGathered_, false))
            return;
        contributions_.clear();
        for (ShardedWeight& weight : weights_)
            weight.whole = {};
    }

    void startScatter()
    {
        constexpr auto kCategory = MemoryCategory::Gradients;
        for (ShardedWeight& weight : weights_) {
            Tensor whole = std::exchange(leaves_.gradients[static_cast<std::size_t>(weight.leaf)], {});
            Storage message = std::move(whole.storage);
            if (whole.type != Type::Float32)
                message = ops_.memory().make(weight.layout.elements * bytesOf(Type::Float32), kCategory,
                                             "gradient of a weight, widened");
            if (!weight.layout.isEven())
                message = ops_.memory().make(weight.layout.padded() * bytesOf(Type::Float32), kCategory,
                                             "gradient of a weight, in equal parts");
            scattered_.push_back(std::move(message));
            weight.gradient = ops_.memory().make(weight.layout.part() * bytesOf(Type::Float32), kCategory,
                                                 "gradient of a part");
        }
    }

    void awaitScatter() { scattered_.clear(); }

    std::vector<std::int32_t> leaves() const
    {
        std::vector<std::int32_t> leaves;
        for (const ShardedWeight& weight : weights_)
            leaves.push_back(weight.leaf);
        return leaves;
    }

private:
    Ops& ops_;
    Leaves& leaves_;
    std::vector<ShardedWeight> weights_;
    bool isGathered_ = false;
    std::vector<Storage> contributions_; ///< of a gather in flight
    std::vector<Storage> scattered_;     ///< whole gradients of a scatter in flight
};

/// Counterpart of engine::ShardedWeights, and with several columns of engine::ShardedParts.
class ShardedWeightsMemory final : public ParallelMemory {
public:
    ShardedWeightsMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
        : ParallelMemory(spec, ops, leaves), schedule_(spec.layers, ops, leaves)
    {
    }

    Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map,
                  std::int32_t leaf) override
    {
        const Storage whole = ops().temporary(count * bytesOf(Type::Float32), "whole weight");
        const ShardLayout layout{.elements = partCount(spec(), count, map), .ranks = gridOf(spec()).data};
        ShardedWeight weight{.layout = layout,
                             .type = map ? productType().value_or(Type::Float32) : Type::Float32,
                             .leaf = leaf};
        {
            const std::int64_t bytes = layout.elements * bytesOf(Type::Float32);
            const Storage cut = layout.elements == count ? Storage() : ops().temporary(bytes, "cut weight");
            const Storage filled = layout.isEven() ? Storage()
                                                   : ops().temporary(layout.padded() * bytesOf(Type::Float32),
                                                                     "weight in equal parts");
            weight.kept = ops().memory().make(layout.part() * bytesOf(Type::Float32),
                                              MemoryCategory::Parameters, "part of a weight");
        }
        ops().temporary(layout.padded() * bytesOf(weight.type), "memory of a gathered weight");
        Tensor placed{.count = layout.elements, .type = weight.type};
        placed.origin.leaf = leaf;
        schedule_.groupOf(name).add(std::move(weight));
        return placed;
    }

    std::vector<std::int64_t> updated() override
    {
        gradients_.emplace(schedule_.leaves(),
                           [this](std::size_t group) { schedule_.gradientsReady(group); });
        leaves().accumulated = [this](std::int32_t leaf) {
            gradients_->gradientReadyOf([leaf](std::int32_t each) { return each == leaf; });
        };
        std::vector<std::int64_t> parts;
        for (const WeightGroup& group : schedule_.groups())
            for (const ShardedWeight& weight : group.weights())
                parts.push_back(weight.layout.part());
        return parts;
    }

    void beginForward(bool makesGradients) override { schedule_.beginForward(makesGradients); }
    Tensor enterBlock(std::int64_t block, const Tensor& x) override
    {
        schedule_.enterBlock(block);
        return x;
    }
    Tensor leaveBlock(std::int64_t block, const Tensor& x) override
    {
        if (!schedule_.leaveBlock(block) || !x.origin.needsGradient())
            return x;
        Tensor hooked = x;
        ops().record(hooked, {&x}, {}, [this, block](const Tensors& g) {
            schedule_.useBlock(block);
            return Tensors{g[0]};
        });
        return hooked;
    }
    void endForward() override { schedule_.endForward(); }
    void beginBackward() override
    {
        schedule_.beginBackward();
        gradients_->reset();
    }
    void finishBackward() override { schedule_.finishBackward(); }

    void dropGradients() override
    {
        ParallelMemory::dropGradients();
        schedule_.eachGroup([](WeightGroup& group) {
            group.release();
            group.dropGradients();
        });
    }

private:
    /// The type of matrices in products under autocast.
    std::optional<Type> productType() const
    {
        return spec().precision == Precision::Fp8 ? Type::BFloat16 : autocastType(spec().precision);
    }

    ShardSchedule<WeightGroup> schedule_;
    std::optional<GradientGroups<std::int32_t>> gradients_; ///< once all parameters are known
};

} // namespace

std::unique_ptr<ParallelMemory> makeShardedWeightsMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
{
    return std::make_unique<ShardedWeightsMemory>(spec, ops, leaves);
}

} // namespace tilescope::predict
