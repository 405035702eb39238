#include "core/predict/parallel_memory.h"

#include "core/model/gradient_groups.h"
#include "core/model/parallelism.h"
#include "core/model/weight_shards.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

namespace tilescope::predict {

namespace {

/// Copies the gradients to one message.
class FlatMemory final : public ParallelMemory {
public:
    using ParallelMemory::ParallelMemory;

    std::vector<std::int64_t> updated() override
    {
        const std::int64_t elements = std::accumulate(counts().begin(), counts().end(), std::int64_t{0});
        message_ = ops().memory().make(elements * bytesOf(Type::Float32), MemoryCategory::Gradients,
                                       "message of the all-reduce");
        return counts();
    }

private:
    Storage message_;
};

/// Each rank updates whole parameters: the largest are assigned first, each to the rank with the fewest elements so far.
class OwnedMemory final : public ParallelMemory {
public:
    using ParallelMemory::ParallelMemory;

    std::vector<std::int64_t> updated() override
    {
        std::vector<std::int64_t> bySize = counts();
        std::ranges::stable_sort(bySize, std::greater());
        std::vector<std::vector<std::int64_t>> owned(static_cast<std::size_t>(spec().gpus));
        std::vector<std::int64_t> elements(owned.size());
        for (const std::int64_t count : bySize) {
            const auto least = std::ranges::min_element(elements);
            owned[static_cast<std::size_t>(least - elements.begin())].push_back(count);
            *least += count;
        }
        return owned[static_cast<std::size_t>(std::ranges::max_element(elements) - elements.begin())];
    }
};

/// Each rank updates a part of every parameter. A parameter that the ranks do not divide evenly is copied where a
/// collective needs equal parts.
class PartMemory final : public ParallelMemory {
public:
    using ParallelMemory::ParallelMemory;

    std::vector<std::int64_t> updated() override
    {
        std::vector<std::int64_t> parts;
        for (std::int32_t leaf = 0; leaf < std::ssize(counts()); ++leaf)
            parts.push_back(layoutOf(leaf).part());
        std::vector<std::int32_t> all(parts.size());
        std::iota(all.begin(), all.end(), 0);
        const auto bytes = [this](std::int32_t leaf) {
            return layoutOf(leaf).elements * bytesOf(Type::Float32);
        };
        buckets_.emplace(bucketsOf(all, spec().bucket.count, bytes), [this](std::size_t bucket) {
            for (const std::int32_t leaf : buckets_->group(bucket))
                addCopy(gradients_, leaf, MemoryCategory::Gradients);
        });
        leaves().accumulated = [this](std::int32_t leaf) {
            buckets_->gradientReadyOf([leaf](std::int32_t each) { return each == leaf; });
        };
        return parts;
    }

    void beginBackward() override { buckets_->reset(); }

    void finishUpdate() override
    {
        std::vector<Storage> copies;
        for (std::int32_t leaf = 0; leaf < std::ssize(counts()); ++leaf)
            addCopy(copies, leaf, MemoryCategory::Temporaries);
    }

    void dropGradients() override
    {
        ParallelMemory::dropGradients();
        gradients_.clear();
    }

private:
    ShardLayout layoutOf(std::int32_t leaf) const
    {
        return {.elements = counts()[static_cast<std::size_t>(leaf)], .ranks = spec().gpus};
    }
    void addCopy(std::vector<Storage>& copies, std::int32_t leaf, MemoryCategory category)
    {
        if (const ShardLayout layout = layoutOf(leaf); !layout.isEven())
            copies.push_back(ops().memory().make(layout.padded() * bytesOf(Type::Float32), category,
                                                 "copy in equal parts"));
    }

    std::optional<GradientGroups<std::int32_t>> buckets_; ///< once all parameters are known
    std::vector<Storage> gradients_;
};

/// Tensor parallelism: a part of each weight that is divided.
class TensorPartsMemory final : public ParallelMemory {
public:
    using ParallelMemory::ParallelMemory;

    Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map,
                  std::int32_t leaf) override
    {
        const std::int64_t part = partCount(spec(), count, map);
        if (part == count)
            return ParallelMemory::placed(name, count, map, leaf);
        // Cut out of the whole weight, and copied once more to be stored transposed.
        const Storage whole = ops().temporary(count * bytesOf(Type::Float32), "whole weight");
        const Storage cut = ops().temporary(part * bytesOf(Type::Float32), "part of a weight");
        return kept(part, map, leaf);
    }
};

} // namespace

Tensor ParallelMemory::placed(const std::string& /*name*/, std::int64_t count, const LinearMap* map,
                              std::int32_t leaf)
{
    return kept(count, map, leaf);
}

Tensor ParallelMemory::kept(std::int64_t count, const LinearMap* map, std::int32_t leaf)
{
    Tensor weight{.count = count};
    weight.storage =
        ops_.memory().make(weight.bytes(), MemoryCategory::Parameters, map ? map->name : "weight");
    weight.origin.leaf = leaf;
    counts_.push_back(count);
    return weight;
}

void ParallelMemory::dropGradients()
{
    for (Tensor& gradient : leaves_.gradients)
        gradient = {};
}

std::int64_t partCount(const ExperimentSpec& spec, std::int64_t count, const LinearMap* map)
{
    const bool isDivided = map && map->division != LinearMap::Division::None;
    return isDivided ? count / gridOf(spec).tensor : count;
}

std::unique_ptr<ParallelMemory> makeParallelMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
{
    switch (spec.parallel) {
    case Parallel::None:
        break;
    case Parallel::DdpNaive:
    case Parallel::Ddp:
        return std::make_unique<ParallelMemory>(spec, ops, leaves);
    case Parallel::DdpFlat:
        return std::make_unique<FlatMemory>(spec, ops, leaves);
    case Parallel::OptimizerSharding:
        return std::make_unique<OwnedMemory>(spec, ops, leaves);
    case Parallel::Zero1:
        return std::make_unique<PartMemory>(spec, ops, leaves);
    case Parallel::Tp:
        return std::make_unique<TensorPartsMemory>(spec, ops, leaves);
    case Parallel::Fsdp:
    case Parallel::FsdpTp:
        return makeShardedWeightsMemory(spec, ops, leaves);
    }
    return nullptr;
}

} // namespace tilescope::predict
