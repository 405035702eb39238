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
    std::string ranks;   ///< the group's ranks, by their numbers in the run: 0,1
    std::int32_t groupSize = 0;
    std::string dtype;         ///< type of the largest tensor: f32
    std::int64_t sequence = 0; ///< number of the collective within the group
    std::int64_t bytes = 0;    ///< message size of one rank
    std::uint32_t thread = 0;  ///< the thread that executed it or, on a GPU, launched its kernels
    std::string path;
    std::int32_t step = 0;
    Timestamp start{}; ///< on a GPU: start of the call that launched the kernels
    Timestamp end{};
};

/// A group of ranks that exchange tensors by collectives, and the records of these collectives.
///
/// Every rank of the group must call the same collectives in the same order with the same sizes. Tensors must
/// be dense; their elements are sent in the order of memory. The tensors of one call form one message.
///
/// A call starts the collective and returns. The collective runs after the work that the calling thread has
/// queued on its current stream, and beside later work until Started::wait(). Collectives of a group run one
/// after the other; on a CPU, on a thread of the group. One thread at a time; only leave() may be called from
/// any thread.
/// \throws LostRank (failure.h) from each collective, from wait() and from synchronize(): another rank has
///                               ended or does not arrive in time
class Ranks {
public:
    /// \param members  the members of the group, by their numbers in the run
    Ranks(int rank, std::vector<int> members, std::string name);
    virtual ~Ranks() = default;
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    int rank() const { return rank_; } ///< within the group
    int size() const { return static_cast<int>(members_.size()); }
    virtual std::string means() const = 0; ///< the library that moves the data: NCCL 2.28.9

    /// Replaces each tensor by its sum over the ranks. All ranks get the same bits.
    Started allReduce(at::TensorList tensors);
    /// Sets each output to the inputs of all ranks, in their order. An input may be its own part of the output.
    Started allGather(at::TensorList outputs, at::TensorList inputs);
    /// Sets each output to this rank's part of the sum of the inputs, which have `size()` parts. An output
    /// may be its own part of the input.
    Started reduceScatter(at::TensorList outputs, at::TensorList inputs);
    /// Replaces each tensor by that of rank `root`.
    Started broadcast(at::TensorList tensors, int root);
    /// Sends part r of `input` to rank r, and sets `output` to the parts received from all ranks, in their order.
    Started allToAll(const at::Tensor& output, const at::Tensor& input);
    /// Returns when every rank has called it. Not recorded; does not wait for devices.
    void barrier();

    /// Waits on the host until the collectives that this rank has started, and the work queued before now on the
    /// current stream, have ended.
    virtual void synchronize() = 0;

    /// Synchronizes and waits for the other ranks, so that the next step does not include the lateness of the previous one.
    void startTogether();

    /// Creates a group of some of the ranks, including this one. Each rank of this group must call it, with the
    /// members of its own part. This group's records include those of the part. This group must outlive the part.
    /// \param members  numbers in this group, ascending
    virtual std::unique_ptr<Ranks> part(const std::vector<int>& members, const std::string& name) = 0;

    /// Leaves the group: other ranks that wait for this one fail at once. Later collectives of this rank fail.
    virtual void leave() = 0;

    /// Returns the collectives since the last call that ran while a tracer recorded a step.
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

    /// A collective to execute. `work` moves the tensors; the other members describe it.
    struct Call {
        const char* op = "";
        std::int64_t sequence = 0;
        std::vector<at::Tensor> tensors; ///< the tensors that the work uses
        std::function<void()> work;
        std::optional<CollectiveRecord> record; ///< still without times; none: not recorded

        /// The op and number of the collective: `all_reduce 12`.
        std::string title() const;
        /// Executes the work and records its time.
        void run(Log& log);
    };

    /// The constructor of a part.
    Ranks(int rank, std::vector<int> members, std::string name, std::shared_ptr<Log> log);
    /// The numbers in the run of members of this group.
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
    std::int64_t sequence_ = 0; ///< number of collectives so far
};

} // namespace tilescope::engine
