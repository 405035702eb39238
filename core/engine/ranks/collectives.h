#pragma once

#include "core/base/mutex.h"
#include "core/base/units.h"
#include "core/engine/ranks/started.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::engine {

/// One collective of this rank in a traced step.
struct CollectiveRecord {
    const char* op = ""; ///< all_reduce
    std::string group;   ///< name of the group
    std::string ranks;   ///< its ranks by their numbers in the run: 0,1
    std::int32_t groupSize = 0;
    std::string dtype;         ///< f32; of the largest tensor
    std::int64_t sequence = 0; ///< number within the group
    std::int64_t bytes = 0;    ///< message of one rank
    std::uint32_t thread = 0;  ///< that executed it, or on a GPU launched its kernels
    std::string path;
    std::int32_t step = 0;
    Timestamp start{}; ///< on a GPU, of the call that launched the kernels
    Timestamp end{};
};

/// A group of ranks: what they exchange, and a record of it.
///
/// Every rank of the group calls the same collectives in the same order with the same sizes. Tensors are dense, and
/// their elements go in the order of memory. The tensors of one call are moved together, as one message.
///
/// A call starts the collective and returns: the collective follows the work that the calling thread has queued on its
/// current stream, and runs beside later work until Started::wait(). Collectives of a group run one after the other. On
/// a CPU they run on a thread of the group.
/// One thread at a time; only leave() may be called from any thread.
/// \throws LostRank (failure.h)  from each collective, from wait() and from synchronize(): another rank has ended or
///         does not arrive in time
class Ranks {
public:
    /// \param members  of the group, by their numbers in the run
    Ranks(int rank, std::vector<int> members, std::string name);
    virtual ~Ranks() = default;
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    int rank() const { return rank_; } ///< within the group
    int size() const { return static_cast<int>(members_.size()); }
    virtual std::string means() const = 0; ///< what moves the data: NCCL 2.28.9

    /// Replaces each tensor by its sum over the ranks: the same bits on each of them.
    Started allReduce(at::TensorList tensors);
    /// Each output becomes the inputs of all ranks, in their order. An input may be its own part of the output.
    Started allGather(at::TensorList outputs, at::TensorList inputs);
    /// Each output becomes this rank's part of the sum of the inputs, which have `size()` parts. An output may be its
    /// own part of the input.
    Started reduceScatter(at::TensorList outputs, at::TensorList inputs);
    /// Replaces each tensor by that of rank `root`.
    Started broadcast(at::TensorList tensors, int root);
    /// Part r of `input` goes to rank r; `output` becomes the parts from all ranks, in their order.
    Started allToAll(const at::Tensor& output, const at::Tensor& input);
    /// Returns when every rank has called it. Not recorded; does not wait for devices.
    void barrier();

    /// Waits on the host until the collectives that this rank has started, and the work queued before now on the
    /// current stream, have ended.
    virtual void synchronize() = 0;

    /// Synchronizes and waits for the other ranks: a step that follows does not include the lateness of the one before.
    void startTogether();

    /// The group of some of the ranks, to which this one belongs. Each rank of this group calls it, with the members of
    /// its own part. Records of the part are among those of this group. This group must outlive it.
    /// \param members  by their numbers in this group, ascending
    virtual std::unique_ptr<Ranks> part(const std::vector<int>& members, const std::string& name) = 0;

    /// Leaves the group: other ranks that wait for this one fail at once. Later collectives of this rank fail.
    virtual void leave() = 0;

    /// The collectives since the last call during which a tracer recorded a step.
    std::vector<CollectiveRecord> takeRecords();

protected:
    /// Collects the records of a group and its parts.
    class Log {
    public:
        void add(CollectiveRecord record);
        std::vector<CollectiveRecord> take();

    private:
        Mutex mutex_;
        std::vector<CollectiveRecord> records_ GUARDED_BY(mutex_);
    };

    /// A collective to execute. `work` moves the tensors; the others describe it.
    struct Call {
        const char* op = "";
        std::int64_t sequence = 0;
        std::vector<at::Tensor> tensors; ///< that the work uses
        std::function<void()> work;
        std::optional<CollectiveRecord> record; ///< without times; none: not recorded

        /// `all_reduce 12`
        std::string title() const;
        /// Executes the work and records its time.
        void run(Log& log);
    };

    /// The constructor of a part.
    Ranks(int rank, std::vector<int> members, std::string name, std::shared_ptr<Log> log);
    /// The numbers in the run of some members.
    std::vector<int> numbersOf(const std::vector<int>& members) const;
    const std::shared_ptr<Log>& log() const { return log_; }

private:
    virtual Started start(Call call) = 0;
    virtual void doAllReduce(const at::Tensor& tensor) = 0;
    virtual void doAllGather(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doReduceScatter(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doBroadcast(const at::Tensor& tensor, int root) = 0;
    virtual void doAllToAll(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void doBarrier() = 0;

    Started startRecorded(const char* op, at::TensorList message, std::vector<at::Tensor> tensors,
                          std::function<void()> work);

    const int rank_;
    const std::vector<int> members_;
    const std::string name_;
    const std::shared_ptr<Log> log_;
    std::int64_t sequence_ = 0; ///< collectives so far
};

} // namespace tilescope::engine
