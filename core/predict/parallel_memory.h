#pragma once

#include "core/model/language_model.h"
#include "core/predict/ops.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::predict {

/// The memory of one rank of a step: the counterpart of engine::Parallelism, with the same calls in the same
/// order. The base class models ranks that keep all weights and gradients.
class ParallelMemory {
public:
    ParallelMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves)
        : spec_(spec), ops_(ops), leaves_(leaves)
    {
    }
    virtual ~ParallelMemory() = default;
    ParallelMemory(const ParallelMemory&) = delete;
    ParallelMemory& operator=(const ParallelMemory&) = delete;

    /// The parameter in place of a weight of `count` elements. Leaves are numbered in the order of the calls.
    /// \param map  of a matrix; null: an embedding or a norm
    virtual Tensor placed(const std::string& name, std::int64_t count, const LinearMap* map,
                          std::int32_t leaf);
    virtual Tensor enterBlock(std::int64_t /*block*/, const Tensor& x) { return x; }
    virtual Tensor leaveBlock(std::int64_t /*block*/, const Tensor& x) { return x; }

    virtual void beginForward(bool /*makesGradients*/) {}
    virtual void endForward() {}
    virtual void beginBackward() {}
    virtual void finishBackward() {}
    virtual void finishUpdate() {}
    virtual void dropGradients();

    /// The number of elements of each tensor that the optimizer updates, for the rank with the most elements.
    /// Call once, after the last placed().
    virtual std::vector<std::int64_t> updated() { return counts_; }

protected:
    const ExperimentSpec& spec() const { return spec_; }
    Ops& ops() { return ops_; }
    Leaves& leaves() { return leaves_; }
    /// Elements by leaf.
    const std::vector<std::int64_t>& counts() const { return counts_; }
    /// A weight of `count` elements that stays.
    Tensor kept(std::int64_t count, const LinearMap* map, std::int32_t leaf);

private:
    const ExperimentSpec spec_;
    Ops& ops_;
    Leaves& leaves_;
    std::vector<std::int64_t> counts_;
};

/// The memory of a rank of `spec.parallel`; null without ranks. `leaves` notifies the result when gradients are complete.
/// \param ops, leaves  must outlive the result
std::unique_ptr<ParallelMemory> makeParallelMemory(const ExperimentSpec& spec, Ops& ops, Leaves& leaves);

/// The memory of a rank with parallel: fsdp or fsdp+tp.
std::unique_ptr<ParallelMemory> makeShardedWeightsMemory(const ExperimentSpec& spec, Ops& ops,
                                                         Leaves& leaves);

/// Elements of a rank's part of a weight under tensor parallelism; `count` if it is not divided.
std::int64_t partCount(const ExperimentSpec& spec, std::int64_t count, const LinearMap* map);

} // namespace tilescope::predict
