#include "core/engine/ranks/nccl_ranks.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/board.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/nccl_api.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <numeric>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;
using at::cuda::CUDAEvent;

/// A waiting rank looks for others that ended at this interval.
constexpr std::chrono::milliseconds kAliveInterval{50};

NcclApi::DataType typeOf(at::ScalarType type)
{
    switch (type) {
    case at::kFloat:
        return NcclApi::Float32;
    case at::kDouble:
        return NcclApi::Float64;
    case at::kBFloat16:
        return NcclApi::Bfloat16;
    case at::kHalf:
        return NcclApi::Float16;
    case at::kLong:
        return NcclApi::Int64;
    case at::kChar:
        return NcclApi::Int8;
    default:
        throw Unsupported{c10::str("NCCL has no type for ", type)};
    }
}

std::size_t countOf(const at::Tensor& tensor)
{
    return static_cast<std::size_t>(tensor.numel());
}

/// A communicator; the destructor frees it.
class Communicator {
public:
    explicit Communicator(NcclApi::Comm comm) : comm_(comm) {}
    // During an exception another rank may never answer.
    ~Communicator()
    {
        if (std::uncaught_exceptions() > 0)
            abort();
        else if (comm_)
            NcclApi::instance().commDestroy(comm_);
    }
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    NcclApi::Comm get() const { return comm_; }
    /// Ends its kernels that wait for other ranks. Later collectives fail.
    void abort()
    {
        if (comm_)
            NcclApi::instance().commAbort(std::exchange(comm_, nullptr));
    }

private:
    NcclApi::Comm comm_;
};

std::vector<int> numbersBelow(int size)
{
    std::vector<int> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

class NcclRanks final : public Ranks {
public:
    NcclRanks(const RankSeat& seat, at::Device device)
        : Ranks(seat.rank, numbersBelow(seat.size), "all ranks"), seat_(seat), device_(device),
          board_(Board::open(seat)),
          stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())),
          groups_(std::make_shared<std::vector<NcclRanks*>>())
    {
        board_->begin();
        NcclApi::UniqueId id{};
        if (rank() == 0)
            require(nccl_.getUniqueId(&id));
        exchange(id);
        NcclApi::Comm comm = nullptr;
        require(nccl_.commInitRank(&comm, size(), id, rank()));
        adopt(comm);
    }

    /// A part of a group.
    NcclRanks(const NcclRanks& whole, const RankSeat& seat, std::vector<int> members, const std::string& name,
              int color)
        : Ranks(seat.rank, std::move(members), name, whole.log()), seat_(seat), device_(whole.device_),
          board_(Board::open(seat)), stream_(whole.stream_), groups_(whole.groups_)
    {
        board_->begin();
        NcclApi::Comm comm = nullptr;
        require(nccl_.commSplit(whole.comm_->get(), color, rank(), &comm, nullptr));
        adopt(comm);
    }

    ~NcclRanks() override
    {
        std::erase(*groups_, this);
        board_->leave();
    }

    void leave() override { board_->leave(); }

    std::unique_ptr<Ranks> part(const std::vector<int>& members, const std::string& name) override
    {
        return std::make_unique<NcclRanks>(*this, seat_.inPart(members, ++parts_), numbersOf(members), name,
                                           members.front());
    }

    // Spins, because a sleep would add to the time of the step.
    void synchronize() override
    {
        CUDAEvent now;
        now.record();
        const Clock::time_point began = Clock::now();
        Clock::time_point nextLook = began + kAliveInterval;
        while (!now.query() || !std::ranges::all_of(*groups_, &NcclRanks::isIdle)) {
            if (Clock::now() < nextLook)
                continue;
            nextLook = Clock::now() + kAliveInterval;
            for (NcclRanks* group : *groups_)
                group->requireAlive(Clock::now() - began);
        }
    }

private:
    /// Gives the id of rank 0 to every rank.
    void exchange(NcclApi::UniqueId& id)
    {
        board_->turn();
        if (rank() == 0)
            std::memcpy(board_->slot(0), &id, sizeof(id));
        board_->meet([] { return "the exchange of NCCL's id"; },
                     {.first = 0, .bytes = rank() == 0 ? sizeof(id) : 0});
        std::memcpy(&id, board_->slot(0), sizeof(id));
    }

    void adopt(NcclApi::Comm comm)
    {
        comm_ = std::make_unique<Communicator>(comm);
        groups_->push_back(this);
    }

    Started start(Call call) override
    {
        if (!comm_->get())
            throw LostRank(c10::str("rank ", rank(), " left its group before ", call.title()));
        CUDAEvent ready;
        ready.record();
        ready.block(stream_);
        call.work = [this, work = std::move(call.work)] {
            require(nccl_.groupStart());
            work();
            require(nccl_.groupEnd());
        };
        call.run(*log());
        title_ = call.title();
        last_ = std::make_shared<CUDAEvent>();
        last_->record(stream_);
        sequence_ = call.sequence;
        board_->announce(sequence_);
        return Started([ended = last_, tensors = std::move(call.tensors)] {
            ended->block(c10::cuda::getCurrentCUDAStream());
        });
    }

    bool isIdle() const { return !last_ || last_->query(); }

    /// \param waited  for this group's last collective
    void requireAlive(Clock::duration waited)
    {
        NcclApi::Result failure = NcclApi::Success;
        if (comm_->get())
            nccl_.commGetAsyncError(comm_->get(), &failure);
        if (failure != NcclApi::Success && failure != NcclApi::InProgress)
            lose(c10::str(title_, " failed: ", nccl_.getErrorString(failure)));
        if (isIdle())
            return;
        bool hasLeft = false;
        const std::string absent = board_->latecomers(sequence_, hasLeft);
        if (absent.empty())
            return; // every rank has started it, so it ends or the point times out
        if (hasLeft)
            lose(c10::str(absent, " ended before ", title_));
        if (waited > seat_.patience)
            lose(
                c10::str(absent, " did not take part in ", title_, " within ", seat_.patience.count(), " s"));
    }

    /// Ends the collectives of all groups of this rank, so that its device becomes idle.
    [[noreturn]] void lose(const std::string& reason)
    {
        for (NcclRanks* group : *groups_) {
            group->board_->leave();
            group->comm_->abort();
        }
        throw LostRank(reason);
    }

    void require(NcclApi::Result result) const
    {
        if (result == NcclApi::Success)
            return;
        const char* detail = nccl_.getLastError(nullptr);
        throw Error{.what = c10::str("NCCL failed: ", nccl_.getErrorString(result),
                                     detail && *detail ? c10::str(" (", detail, ")") : std::string()),
                    .where = c10::str("rank ", rank()),
                    .mend = "set NCCL_DEBUG=WARN to see what it reports",
                    .kind = ErrorKind::Environment};
    }

    void doAllReduce(const at::Tensor& tensor) override
    {
        require(nccl_.allReduce(tensor.data_ptr(), tensor.data_ptr(), countOf(tensor),
                                typeOf(tensor.scalar_type()), NcclApi::Sum, comm_->get(), stream_.stream()));
    }

    void doAllGather(const at::Tensor& output, const at::Tensor& input) override
    {
        require(nccl_.allGather(input.data_ptr(), output.data_ptr(), countOf(input),
                                typeOf(input.scalar_type()), comm_->get(), stream_.stream()));
    }

    void doReduceScatter(const at::Tensor& output, const at::Tensor& input) override
    {
        require(nccl_.reduceScatter(input.data_ptr(), output.data_ptr(), countOf(output),
                                    typeOf(input.scalar_type()), NcclApi::Sum, comm_->get(),
                                    stream_.stream()));
    }

    void doBroadcast(const at::Tensor& tensor, int root) override
    {
        require(nccl_.broadcast(tensor.data_ptr(), tensor.data_ptr(), countOf(tensor),
                                typeOf(tensor.scalar_type()), root, comm_->get(), stream_.stream()));
    }

    void doAllToAll(const at::Tensor& output, const at::Tensor& input) override
    {
        const std::size_t count = countOf(input) / static_cast<std::size_t>(size());
        const NcclApi::DataType type = typeOf(input.scalar_type());
        const std::size_t bytes = count * input.element_size();
        for (int peer = 0; peer < size(); ++peer) {
            const std::size_t at = static_cast<std::size_t>(peer) * bytes;
            require(nccl_.send(static_cast<const char*>(input.data_ptr()) + at, count, type, peer,
                               comm_->get(), stream_.stream()));
            require(nccl_.receive(static_cast<char*>(output.data_ptr()) + at, count, type, peer, comm_->get(),
                                  stream_.stream()));
        }
    }

    void doBarrier() override
    {
        board_->meet([] { return "a barrier"; }, {});
    }

    const NcclApi& nccl_ = NcclApi::instance();
    const RankSeat seat_;
    const at::Device device_;
    const std::unique_ptr<Board> board_;
    c10::cuda::CUDAStream stream_;
    std::shared_ptr<std::vector<NcclRanks*>> groups_; ///< the whole group and its parts
    std::unique_ptr<Communicator> comm_;
    std::shared_ptr<CUDAEvent> last_; ///< the end of the last collective
    std::string title_;               ///< of the last collective
    std::int64_t sequence_ = 0;       ///< of the last collective
    int parts_ = 0;                   ///< made so far
};

} // namespace

std::unique_ptr<Ranks> joinThroughNccl(const RankSeat& seat, const Device& device)
{
    return std::make_unique<NcclRanks>(seat, device.torch());
}

} // namespace tilescope::engine
