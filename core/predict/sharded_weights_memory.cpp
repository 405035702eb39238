#include "core/predict/parallel_memory.h"

#include "core/model/block_name.h"
#include "core/model/parallelism.h"
#include "core/predict/gradient_groups.h"

#include <optional>
#include <string_view>
#include <utility>

namespace tilescope::predict {

namespace {

/// The type of matrices in products under autocast.
Type productType(Precision precision)
{
    if (precision == Precision::Bf16 || precision == Precision::Fp8)
        return Type::BFloat16;
    return precision == Precision::Fp16 ? Type::Float16 : Type::Float32;
}

/// A weight of which the rank keeps a part; the whole has memory only while it is in use.
struct ShardedWeight {
    std::int64_t count = 0;
    std::int64_t padded = 0;   ///< elements of all parts together
    std::int64_t part = 0;     ///< elements
    Type type = Type::Float32; ///< of the whole
    std::int32_t leaf = 0;
    Storage kept = {};
    Storage whole = {};
    Storage gradient = {}; ///< of the part

    bool isEven() const { return padded == count; }
};

/// The weights that are gathered together.
struct WeightGroup {
    std::vector<ShardedWeight> weights;
    bool isGathered = false;
    std::vector<Storage> contributions; ///< of a gather in flight
    std::vector<Storage> scattered;     ///< whole gradients of a scatter in flight
};

/// Counterpart of engine::ShardedWeights, and with several columns of engine::ShardedParts.
class ShardedWeightsMemory final : public ParallelMemory {
public:
    ShardedWeightsMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
        : ParallelMemory(spec, ops, leaves), rows_(gridOf(spec).data),
          groups_(static_cast<std::size_t>(spec.layers) + 2)
    {
    }

    Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map,
                  std::int32_t leaf) override
    {
        const Storage whole = ops().temporary(count * bytesOf(Type::Float32), "whole weight");
        ShardedWeight weight{.count = partCount(spec(), count, map),
                             .type = map ? productType(spec().precision) : Type::Float32,
                             .leaf = leaf};
        weight.padded = paddedCount(weight.count, rows_);
        weight.part = weight.padded / rows_;
        {
            const std::int64_t bytes = weight.count * bytesOf(Type::Float32);
            const Storage cut = weight.count == count ? Storage() : ops().temporary(bytes, "cut weight");
            const Storage filled = weight.isEven() ? Storage()
                                                   : ops().temporary(weight.padded * bytesOf(Type::Float32),
                                                                     "weight in equal parts");
            weight.kept = ops().memory().make(weight.part * bytesOf(Type::Float32),
                                              MemoryCategory::Parameters, "part of a weight");
        }
        ops().temporary(weight.padded * bytesOf(weight.type), "memory of a gathered weight");
        Tensor placed{.count = weight.count, .type = weight.type};
        placed.origin.leaf = leaf;
        groupOf(name).weights.push_back(std::move(weight));
        return placed;
    }

    std::vector<std::int64_t> updated() override
    {
        std::vector<std::vector<std::int32_t>> groups;
        for (auto group = groups_.rbegin(); group != groups_.rend(); ++group)
            groups.push_back(leavesOf(*group));
        gradients_.emplace(std::move(groups), [this](std::size_t group) { gradientsReady(group); });
        leaves().accumulated = [this](std::int32_t leaf) { gradients_->gradientReady(leaf); };
        std::vector<std::int64_t> parts;
        for (const WeightGroup& group : groups_)
            for (const ShardedWeight& weight : group.weights)
                parts.push_back(weight.part);
        return parts;
    }

    void beginForward(bool makesGradients) override
    {
        inBackward_ = false;
        makesGradients_ = makesGradients;
        startGather(groups_.back());
        use(0);
        groups_.back().contributions.clear();
    }

    Tensor enterBlock(std::int64_t block, const Tensor& x) override
    {
        if (block == 0 && !inBackward_)
            release(groups_.front());
        use(groupOf(block));
        return x;
    }

    Tensor leaveBlock(std::int64_t block, const Tensor& x) override
    {
        if (inBackward_)
            return x;
        const std::size_t number = groupOf(block);
        if (number + 2 < groups_.size() || !makesGradients_)
            release(groups_[number]);
        if (!x.origin.needsGradient())
            return x;
        Tensor hooked = x;
        ops().record(hooked, {&x}, {}, [this, number](const Tensors& g) {
            use(number);
            return Tensors{g[0]};
        });
        return hooked;
    }

    void endForward() override
    {
        if (!makesGradients_)
            release(groups_.back());
    }

    void beginBackward() override
    {
        inBackward_ = true;
        gradients_->reset();
    }

    void finishBackward() override
    {
        for (WeightGroup& group : groups_)
            group.scattered.clear();
    }

    void dropGradients() override
    {
        ParallelMemory::dropGradients();
        for (WeightGroup& group : groups_) {
            release(group);
            for (ShardedWeight& weight : group.weights)
                weight.gradient = {};
        }
    }

private:
    static std::vector<std::int32_t> leavesOf(const WeightGroup& group)
    {
        std::vector<std::int32_t> leaves;
        for (const ShardedWeight& weight : group.weights)
            leaves.push_back(weight.leaf);
        return leaves;
    }

    static void release(WeightGroup& group)
    {
        if (!std::exchange(group.isGathered, false))
            return;
        group.contributions.clear();
        for (ShardedWeight& weight : group.weights)
            weight.whole = {};
    }

    WeightGroup& groupOf(const std::string& name)
    {
        if (const std::optional<std::int64_t> block = blockNumber(name))
            return groups_.at(groupOf(*block));
        return name == "embedding" ? groups_.front() : groups_.back();
    }

    static std::size_t groupOf(std::int64_t block) { return static_cast<std::size_t>(block) + 1; }

    void startGather(WeightGroup& group)
    {
        if (std::exchange(group.isGathered, true))
            return;
        for (ShardedWeight& weight : group.weights) {
            weight.whole = ops().memory().make(weight.padded * bytesOf(weight.type),
                                               MemoryCategory::Parameters, "gathered weight");
            if (weight.type != Type::Float32)
                group.contributions.push_back(
                    ops().temporary(weight.part * bytesOf(weight.type), "part of a weight, cast"));
        }
    }

    void use(std::size_t group)
    {
        startGather(groups_[group]);
        groups_[group].contributions.clear();
        const std::size_t next = inBackward_ ? group - 1 : group + 1;
        if (next > 0 && next < groups_.size())
            startGather(groups_[next]);
    }

    void gradientsReady(std::size_t number)
    {
        const std::size_t made = groups_.size() - 1 - number;
        if (number > 0)
            groups_[made + 1].scattered.clear();
        release(groups_[made]);
        startScatter(groups_[made]);
    }

    void startScatter(WeightGroup& group)
    {
        constexpr auto kCategory = MemoryCategory::Gradients;
        for (ShardedWeight& weight : group.weights) {
            Tensor whole = std::exchange(leaves().gradients[static_cast<std::size_t>(weight.leaf)], {});
            Storage message = std::move(whole.storage);
            if (whole.type != Type::Float32)
                message = ops().memory().make(weight.count * bytesOf(Type::Float32), kCategory,
                                              "gradient of a weight, widened");
            if (!weight.isEven())
                message = ops().memory().make(weight.padded * bytesOf(Type::Float32), kCategory,
                                              "gradient of a weight, in equal parts");
            group.scattered.push_back(std::move(message));
            weight.gradient =
                ops().memory().make(weight.part * bytesOf(Type::Float32), kCategory, "gradient of a part");
        }
    }

    const int rows_;
    std::vector<WeightGroup> groups_;         ///< the embedding, each block, all other weights
    std::optional<GradientGroups> gradients_; ///< once all parameters are known
    bool makesGradients_ = false;
    bool inBackward_ = false;
};

} // namespace

std::unique_ptr<ParallelMemory> makeShardedWeightsMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
{
    return std::make_unique<ShardedWeightsMemory>(spec, ops, leaves);
}

} // namespace tilescope::predict
