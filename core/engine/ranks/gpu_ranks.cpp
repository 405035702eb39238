#include "core/engine/ranks/gpu_ranks.h"

#include "core/base/error.h"
#include "core/engine/common/device.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/board.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/copy_transport.h"
#include "core/engine/ranks/nccl_transport.h"
#include "core/engine/ranks/transport.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <utility>

namespace tilescope::engine {

namespace {

using Clock = std::chrono::steady_clock;
using at::cuda::CUDAEvent;

/// Interval at which a waiting rank checks whether others have ended.
constexpr std::chrono::milliseconds kAliveInterval{50};

std::vector<int> numbersBelow(int size)
{
    std::vector<int> numbers(static_cast<std::size_t>(size));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

std::unique_ptr<Transport> connect(const RankInfo& rankInfo, Board& board, at::Device device,
                                   c10::cuda::CUDAStream stream, CollectiveMeans means)
{
    if (means != CollectiveMeans::Nccl) {
        std::string why;
        if (auto copies =
                connectByCopies(rankInfo, board, device, stream, means == CollectiveMeans::Auto, why))
            return copies;
        if (means == CollectiveMeans::Copies)
            throw Unsupported{c10::str("TILESCOPE_COLLECTIVES=copy is not possible: ", why)};
    }
    return connectByNccl(rankInfo, board, stream);
}

class GpuRanks final : public Ranks {
public:
    GpuRanks(const RankInfo& rankInfo, at::Device device, CollectiveMeans means)
        : Ranks(rankInfo.rank, numbersBelow(rankInfo.size), "all ranks"), rankInfo_(rankInfo),
          board_(Board::open(rankInfo)),
          stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true, device.index())),
          groups_(std::make_shared<std::vector<GpuRanks*>>())
    {
        board_->begin();
        transport_ = connect(rankInfo, *board_, device, stream_, means);
        groups_->push_back(this);
    }

    /// Constructs a part of a group.
    GpuRanks(const GpuRanks& whole, const RankInfo& rankInfo, std::vector<int> members,
             const std::string& name, int color)
        : Ranks(rankInfo.rank, std::move(members), name, whole.log()), rankInfo_(rankInfo),
          board_(Board::open(rankInfo)), stream_(whole.stream_), groups_(whole.groups_)
    {
        board_->begin();
        transport_ = whole.transport_->part(rankInfo, *board_, color);
        groups_->push_back(this);
    }

    ~GpuRanks() override
    {
        std::erase(*groups_, this);
        board_->leave();
    }

    void leave() override { board_->leave(); }
    std::string means() const override { return transport_->name(); }

    std::unique_ptr<Ranks> part(const std::vector<int>& members, const std::string& name) override
    {
        return std::make_unique<GpuRanks>(*this, rankInfo_.inPart(members, ++parts_), numbersOf(members),
                                          name, members.front());
    }

    // Spins, because sleeping would lengthen the step.
    void synchronize() override
    {
        CUDAEvent now;
        now.record();
        const Clock::time_point began = Clock::now();
        Clock::time_point nextLook = began + kAliveInterval;
        while (!now.query() || !std::ranges::all_of(*groups_, &GpuRanks::isIdle)) {
            if (Clock::now() < nextLook)
                continue;
            nextLook = Clock::now() + kAliveInterval;
            for (GpuRanks* group : *groups_)
                group->requireAlive(Clock::now() - began);
        }
    }

private:
    Started start(Call call) override
    {
        if (!transport_->isOpen())
            throw LostRank(c10::str("rank ", rank(), " left its group before ", call.title()));
        CUDAEvent ready;
        ready.record();
        ready.block(stream_);
        title_ = call.title();
        call.work = [this, tensors = call.tensors, work = std::move(call.work)] {
            transport_->begin(tensors, [this] { return title_; });
            work();
            transport_->end();
        };
        try {
            call.run(*log());
        } catch (const LostRank&) {
            abandon();
            throw;
        }
        last_ = std::make_shared<CUDAEvent>();
        last_->record(stream_);
        sequence_ = call.sequence;
        board_->announce(sequence_);
        return Started([ended = last_, tensors = std::move(call.tensors)] {
            ended->block(c10::cuda::getCurrentCUDAStream());
        });
    }

    bool isIdle() const { return !last_ || last_->query(); }

    /// \param waited  how long this rank has waited for the group's last collective
    void requireAlive(Clock::duration waited)
    {
        if (const std::string failure = transport_->failure(); !failure.empty())
            lose(c10::str(title_, " failed: ", failure));
        if (isIdle())
            return;
        bool hasLeft = false;
        const std::string absent = board_->missingRanks(sequence_, hasLeft);
        if (absent.empty())
            return; // every rank has started the collective, so it ends or the point times out
        if (hasLeft)
            lose(c10::str(absent, " ended before ", title_));
        if (waited > rankInfo_.timeout)
            lose(c10::str(absent, " did not take part in ", title_, " within ", rankInfo_.timeout.count(),
                          " s"));
    }

    [[noreturn]] void lose(const std::string& reason)
    {
        abandon();
        throw LostRank(reason);
    }

    /// Ends the collectives of all groups of this rank, so that its device becomes idle.
    void abandon()
    {
        for (GpuRanks* group : *groups_) {
            group->board_->leave();
            group->transport_->abort();
        }
    }

    void doAllReduce(const at::Tensor& tensor) override { transport_->allReduce(tensor); }
    void doAllGather(const at::Tensor& output, const at::Tensor& input) override
    {
        transport_->allGather(output, input);
    }
    void doReduceScatter(const at::Tensor& output, const at::Tensor& input) override
    {
        transport_->reduceScatter(output, input);
    }
    void doBroadcast(const at::Tensor& tensor, int root) override { transport_->broadcast(tensor, root); }
    void doAllToAll(const at::Tensor& output, const at::Tensor& input) override
    {
        transport_->allToAll(output, input);
    }

    void doBarrier() override
    {
        board_->meet([] { return "a barrier"; }, {});
    }

    const RankInfo rankInfo_;
    const std::unique_ptr<Board> board_;
    c10::cuda::CUDAStream stream_;
    std::shared_ptr<std::vector<GpuRanks*>> groups_; ///< the whole group and its parts
    std::unique_ptr<Transport> transport_;
    std::shared_ptr<CUDAEvent> last_; ///< recorded at the end of the last collective
    std::string title_;               ///< title of the last collective
    std::int64_t sequence_ = 0;       ///< number of the last collective
    int parts_ = 0;                   ///< number of parts made so far
};

} // namespace

CollectiveMeans chosenMeans()
{
    const char* const variable = std::getenv("TILESCOPE_COLLECTIVES");
    const std::string_view word = variable ? variable : "auto";
    if (word.empty() || word == "auto")
        return CollectiveMeans::Auto;
    if (word == "nccl")
        return CollectiveMeans::Nccl;
    if (word == "copy")
        return CollectiveMeans::Copies;
    throw Error{.what = c10::str("unknown means '", word, "'"),
                .where = "TILESCOPE_COLLECTIVES",
                .remedy = "write auto, nccl or copy"};
}

std::unique_ptr<Ranks> joinOnGpus(const RankInfo& rankInfo, const Device& device, CollectiveMeans means)
{
    return std::make_unique<GpuRanks>(rankInfo, device.torch(), means);
}

} // namespace tilescope::engine
