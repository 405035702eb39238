#include "core/engine/ranks/cpu_ranks.h"

#include "core/base/mutex.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/board.h"
#include "core/engine/ranks/collectives.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <future>
#include <numeric>
#include <thread>

namespace tilescope::engine {

namespace {

constexpr auto kSlot = static_cast<std::int64_t>(Board::kSlotBytes);

std::byte* bytesOf(const at::Tensor& tensor)
{
    return static_cast<std::byte*>(tensor.data_ptr());
}

std::int64_t byteCount(const at::Tensor& tensor)
{
    return static_cast<std::int64_t>(tensor.nbytes());
}

void copyBytes(std::byte* to, const std::byte* from, std::int64_t bytes)
{
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// A thread that executes calls one after the other. Any thread may add calls.
class CallThread {
public:
    CallThread() : thread_([this] { work(); }) {}
    /// Executes the calls added so far, then ends the thread.
    ~CallThread()
    {
        {
            const MutexLock lock(mutex_);
            closing_ = true;
            changed_.notifyAll();
        }
        thread_.join();
    }
    CallThread(const CallThread&) = delete;
    CallThread& operator=(const CallThread&) = delete;

    /// \return  a function that waits for the call and rethrows its exception
    std::function<void()> add(std::function<void()> call)
    {
        std::packaged_task<void()> task(std::move(call));
        const std::shared_future<void> future = task.get_future().share();
        const MutexLock lock(mutex_);
        calls_.push_back(std::move(task));
        last_ = future;
        changed_.notifyAll();
        return [future] { future.get(); };
    }

    /// Waits for all calls and rethrows the exception of the last one.
    void wait()
    {
        std::shared_future<void> last;
        {
            const MutexLock lock(mutex_);
            last = last_;
        }
        if (last.valid())
            last.get();
    }

private:
    void work()
    {
        pthread_setname_np(pthread_self(), "collectives");
        for (;;) {
            std::packaged_task<void()> next;
            {
                MutexLock lock(mutex_);
                changed_.wait(lock, [this]() REQUIRES(mutex_) { return closing_ || !calls_.empty(); });
                if (calls_.empty())
                    return;
                next = std::move(calls_.front());
                calls_.pop_front();
            }
            next();
        }
    }

    Mutex mutex_;
    Condition changed_;
    std::deque<std::packaged_task<void()>> calls_ GUARDED_BY(mutex_);
    std::shared_future<void> last_ GUARDED_BY(mutex_);
    bool closing_ GUARDED_BY(mutex_) = false;

    std::thread thread_; ///< started last, joined by the destructor
};

class CpuRanks final : public Ranks {
public:
    explicit CpuRanks(const RankInfo& rankInfo)
        : Ranks(rankInfo.rank, membersOf(rankInfo.size), "all ranks"), rankInfo_(rankInfo),
          board_(Board::open(rankInfo))
    {
        board_->begin();
    }

    CpuRanks(const RankInfo& rankInfo, std::vector<int> members, const std::string& name,
             std::shared_ptr<Log> log)
        : Ranks(rankInfo.rank, std::move(members), name, std::move(log)), rankInfo_(rankInfo),
          board_(Board::open(rankInfo))
    {
        board_->begin();
    }

    // leave() ends a call that waits for other ranks, so that the thread can end.
    ~CpuRanks() override { board_->leave(); }

    std::string means() const override { return rankInfo_.hub.isKnown() ? "TCP" : "shared memory"; }
    void synchronize() override { thread_.wait(); }
    void leave() override { board_->leave(); }

    std::unique_ptr<Ranks> part(const std::vector<int>& members, const std::string& name) override
    {
        return std::make_unique<CpuRanks>(rankInfo_.inPart(members, ++parts_), numbersOf(members), name,
                                          log());
    }

private:
    static std::vector<int> membersOf(int size)
    {
        std::vector<int> members(static_cast<std::size_t>(size));
        std::iota(members.begin(), members.end(), 0);
        return members;
    }

    Started start(Call call) override
    {
        // The future of the thread's last call keeps its function alive, but the tensors must not outlive
        // wait().
        std::vector<at::Tensor> tensors = call.tensors;
        std::function<void()> wait = thread_.add([this, call = std::move(call)]() mutable {
            Call running = std::move(call);
            title_ = running.title();
            running.run(*log());
        });
        return Started([wait = std::move(wait), tensors = std::move(tensors)] { wait(); });
    }

    void doAllReduce(const at::Tensor& tensor) override
    {
        withType(tensor, [&]<class T>(T* data) { sumInto(data, tensor.numel()); });
    }

    void doReduceScatter(const at::Tensor& output, const at::Tensor& input) override
    {
        withType(output, [&]<class T>(T* data) {
            scatterSums(data, static_cast<const T*>(input.data_ptr()), output.numel());
        });
    }

    void doAllGather(const at::Tensor& output, const at::Tensor& input) override
    {
        const std::int64_t whole = byteCount(input);
        for (std::int64_t at = 0; at < whole; at += kSlot) {
            const std::int64_t bytes = std::min(kSlot, whole - at);
            board_->turn();
            copyBytes(board_->slot(rank()), bytesOf(input) + at, bytes);
            meet(0, bytes);
            for (int from = 0; from < size(); ++from)
                copyBytes(bytesOf(output) + from * whole + at, board_->slot(from), bytes);
        }
    }

    void doBroadcast(const at::Tensor& tensor, int root) override
    {
        const std::int64_t whole = byteCount(tensor);
        for (std::int64_t at = 0; at < whole; at += kSlot) {
            const std::int64_t bytes = std::min(kSlot, whole - at);
            board_->turn();
            if (rank() == root)
                copyBytes(board_->slot(root), bytesOf(tensor) + at, bytes);
            meet(0, rank() == root ? bytes : 0);
            if (rank() != root)
                copyBytes(bytesOf(tensor) + at, board_->slot(root), bytes);
        }
    }

    void doAllToAll(const at::Tensor& output, const at::Tensor& input) override
    {
        const std::int64_t part = byteCount(input) / size();
        const std::int64_t most = kSlot / size();
        for (std::int64_t at = 0; at < part; at += most) {
            const std::int64_t bytes = std::min(most, part - at);
            board_->turn();
            for (int to = 0; to < size(); ++to)
                copyBytes(board_->slot(rank()) + to * bytes, bytesOf(input) + to * part + at, bytes);
            meet(0, size() * bytes);
            for (int from = 0; from < size(); ++from)
                copyBytes(bytesOf(output) + from * part + at, board_->slot(from) + rank() * bytes, bytes);
        }
    }

    void doBarrier() override
    {
        thread_.add([this] { board_->meet([] { return "a barrier"; }, {}); })();
    }

    // Each rank adds up its share of the elements in the order of ranks, and the others copy the result. So
    // all ranks get the same bits.
    template <class T> void sumInto(T* data, std::int64_t count)
    {
        constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
        const std::int64_t most = kSlot / kBytes;
        for (std::int64_t at = 0; at < count; at += most) {
            const std::int64_t here = std::min(most, count - at);
            const auto share = [&](int of) { return here * of / size(); };
            board_->turn();
            std::copy_n(data + at, here, slotOf<T>(rank()));
            meet(0, here * kBytes);
            addShares<T>(slotOf<T>(rank()), share(rank()), share(rank() + 1), 0);
            meet(share(rank()) * kBytes, (share(rank() + 1) - share(rank())) * kBytes);
            for (int from = 0; from < size(); ++from)
                std::copy(slotOf<T>(from) + share(from), slotOf<T>(from) + share(from + 1),
                          data + at + share(from));
        }
    }

    template <class T> void scatterSums(T* output, const T* input, std::int64_t count)
    {
        constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
        const std::int64_t most = kSlot / kBytes / size();
        for (std::int64_t at = 0; at < count; at += most) {
            const std::int64_t here = std::min(most, count - at);
            board_->turn();
            for (int to = 0; to < size(); ++to)
                std::copy_n(input + to * count + at, here, slotOf<T>(rank()) + to * here);
            meet(0, size() * here * kBytes);
            addShares<T>(output + at, 0, here, rank() * here);
        }
    }

    /// to[i] = the sum over ranks of slot[offset + i].
    template <class T> void addShares(T* to, std::int64_t first, std::int64_t last, std::int64_t offset)
    {
        for (std::int64_t i = first; i < last; ++i) {
            T sum = slotOf<T>(0)[offset + i];
            for (int from = 1; from < size(); ++from)
                sum += slotOf<T>(from)[offset + i];
            to[i] = sum;
        }
    }

    template <class T> T* slotOf(int rank) const { return reinterpret_cast<T*>(board_->slot(rank)); }

    template <class Work> void withType(const at::Tensor& tensor, const Work& work)
    {
        if (tensor.scalar_type() == at::kFloat)
            return work(tensor.data_ptr<float>());
        if (tensor.scalar_type() == at::kDouble)
            return work(tensor.data_ptr<double>());
        if (tensor.scalar_type() == at::kBFloat16)
            return work(tensor.data_ptr<at::BFloat16>());
        if (tensor.scalar_type() == at::kHalf)
            return work(tensor.data_ptr<at::Half>());
        throw Unsupported{
            c10::str("ranks on a CPU add up floating-point numbers, not ", tensor.scalar_type())};
    }

    /// \param first, bytes  the range that this rank has filled in its slot
    void meet(std::int64_t first, std::int64_t bytes)
    {
        board_->meet([this] { return title_; },
                     {.first = static_cast<std::size_t>(first), .bytes = static_cast<std::size_t>(bytes)});
    }

    const RankInfo rankInfo_;
    const std::unique_ptr<Board> board_;
    std::string title_; ///< title of the call in progress; used by the thread
    int parts_ = 0;     ///< number of parts made so far
    CallThread thread_; ///< last, because it uses the other members
};

} // namespace

std::unique_ptr<Ranks> joinOnCpu(const RankInfo& rankInfo)
{
    return std::make_unique<CpuRanks>(rankInfo);
}

} // namespace tilescope::engine
