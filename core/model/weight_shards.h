#pragma once

#include "core/model/block_name.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// How ranks divide weights: used by core/engine, which moves them, and by core/predict, which counts their memory.
namespace tilescope {

/// The equal parts into which ranks divide the elements of a tensor, in the order of memory. If the number of
/// elements is not a multiple of the ranks, the last parts are padded beyond the end of the tensor.
struct ShardLayout {
    std::int64_t elements = 0;
    int ranks = 1;

    std::int64_t part() const { return (elements + ranks - 1) / ranks; } ///< elements of a part
    std::int64_t padded() const { return part() * ranks; }
    bool isEven() const { return padded() == elements; }
    std::int64_t begin(int rank) const { return std::min(rank * part(), elements); }
    /// Elements of the tensor in the part of a rank.
    std::int64_t count(int rank) const { return std::min(part(), elements - begin(rank)); }
};

/// When the ranks of fully sharded data parallelism gather, free and scatter weights.
///
/// The weights of a block are gathered before its forward and before its backward, and freed afterwards. While a
/// block runs, the next block's weights are gathered. While backward computes the next gradients, those of the
/// previous block are summed and scattered. Weights outside blocks are gathered once per step: the embedding is freed
/// before the first block, the others when their gradients are made.
/// \tparam Group  the weights that are gathered together: startGather(), which has no effect while they are gathered,
///                awaitGather(), release(), startScatter(), awaitScatter(), leaves()
template <class Group> class ShardSchedule {
public:
    /// \param context  passed to each group
    template <class... Context> explicit ShardSchedule(std::int64_t layers, Context&... context)
    {
        for (std::int64_t i = 0; i < layers + 2; ++i)
            groups_.emplace_back(context...);
    }

    const std::vector<Group>& groups() const { return groups_; }
    Group& groupOf(const std::string& weight)
    {
        if (const std::optional<std::int64_t> block = blockNumber(weight))
            return groups_.at(numberOf(*block));
        return weight == "embedding" ? groups_.front() : groups_.back();
    }
    /// The leaves by group, in the order in which backward makes their gradients.
    auto leaves() const
    {
        std::vector<decltype(groups_.front().leaves())> leaves;
        for (auto group = groups_.rbegin(); group != groups_.rend(); ++group)
            leaves.push_back(group->leaves());
        return leaves;
    }

    void beginForward(bool makesGradients)
    {
        inBackward_ = false;
        makesGradients_ = makesGradients;
        groups_.back().startGather();
        use(0);
        groups_.back().awaitGather();
    }
    /// In backward this is a recomputation.
    void enterBlock(std::int64_t block)
    {
        if (block == 0 && !inBackward_)
            groups_.front().release(); // backward does not read the embedding
        useBlock(block);
    }
    /// \return  whether backward must call useBlock() when it comes to the end of the block
    bool leaveBlock(std::int64_t block)
    {
        if (inBackward_)
            return false;
        // In backward, the last block comes first.
        const std::size_t number = numberOf(block);
        if (number + 2 < groups_.size() || !makesGradients_)
            groups_[number].release();
        return true;
    }
    void useBlock(std::int64_t block) { use(numberOf(block)); }
    void endForward()
    {
        if (!makesGradients_)
            groups_.back().release();
    }
    void beginBackward() { inBackward_ = true; }
    /// Call when backward has made the gradients of a group.
    /// \param number  in leaves()
    void gradientsReady(std::size_t number)
    {
        const std::size_t made = groups_.size() - 1 - number;
        // The previous sum could run during a whole block's backward. Waiting for it now frees its gradients.
        if (number > 0)
            groups_[made + 1].awaitScatter();
        groups_[made].release();
        groups_[made].startScatter();
    }
    void finishBackward()
    {
        for (Group& group : groups_)
            group.awaitScatter();
    }
    template <class Use> void eachGroup(const Use& use) { std::ranges::for_each(groups_, use); }

private:
    static std::size_t numberOf(std::int64_t block) { return static_cast<std::size_t>(block) + 1; }

    /// Waits for the weights of a group and starts the gather of the group that is needed next.
    void use(std::size_t group)
    {
        groups_[group].startGather();
        groups_[group].awaitGather();
        const std::size_t next = inBackward_ ? group - 1 : group + 1;
        if (next > 0 && next < groups_.size())
            groups_[next].startGather();
    }

    std::vector<Group> groups_; ///< the embedding, each block, all other weights
    bool makesGradients_ = false;
    bool inBackward_ = false;
};

} // namespace tilescope
