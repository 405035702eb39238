#pragma once

#include "core/base/units.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilescope::engine {

/// One collective of this rank in a traced step.
struct CollectiveRecord {
    const char* op = ""; ///< all_reduce
    std::string dtype;   ///< f32
    std::int64_t sequence = 0;
    std::int64_t bytes = 0; ///< message of one rank
    std::uint32_t thread = 0;
    std::string path;
    std::int32_t step = 0;
    Timestamp start{};
    Timestamp end{};
};

/// The ranks that run a step together: what they exchange, and a record of it.
///
/// Every rank calls the same collectives in the same order with the same sizes; tensors are dense. A
/// collective has ended for this rank when the call returns. One thread at a time.
/// \throws LostRank (failure.h)  from each collective: another rank has ended or does not arrive in time
class Ranks {
public:
    Ranks(int rank, int size) : rank_(rank), size_(size) {}
    virtual ~Ranks() = default;
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }

    /// Replaces `tensor` by its sum over the ranks: the same bits on each of them.
    void allReduce(const at::Tensor& tensor);
    /// `output` becomes the inputs of all ranks, in their order.
    void allGather(const at::Tensor& output, const at::Tensor& input);
    /// `output` becomes this rank's part of the sum of the inputs, which have `size()` parts.
    void reduceScatter(const at::Tensor& output, const at::Tensor& input);
    /// Replaces `tensor` by that of rank `root`.
    void broadcast(const at::Tensor& tensor, int root);
    /// Part r of `input` goes to rank r; `output` becomes the parts from all ranks, in their order.
    void allToAll(const at::Tensor& output, const at::Tensor& input);
    /// Returns when every rank has called it.
    void barrier();

    /// Leaves the group: other ranks that wait for this one fail at once. Later collectives of this rank fail.
    virtual void leave() = 0;

    /// The collectives since the last call during which a tracer recorded a step.
    std::vector<CollectiveRecord> takeRecords();

protected:
    /// `all_reduce 12`, the collective in progress; for messages.
    std::string current() const;

private:
    virtual void doAllReduce(const at::Tensor& tensor) = 0;
    virtual void doAllGather(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doReduceScatter(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doBroadcast(const at::Tensor& tensor, int root) = 0;
    virtual void doAllToAll(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doBarrier() = 0;

    void recorded(const char* op, const at::Tensor& message, const std::function<void()>& work);

    const int rank_;
    const int size_;
    std::int64_t sequence_ = 0; ///< collectives so far
    const char* op_ = "";
    std::vector<CollectiveRecord> records_;
};

} // namespace tilescope::engine
