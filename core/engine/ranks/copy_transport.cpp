#include "core/engine/ranks/copy_transport.h"

#include "core/base/error.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/board.h"
#include "core/engine/ranks/message_share.h"
#include "core/engine/ranks/peer_memory.h"
#include "core/engine/ranks/transport.h"
#include "kernels/include/ranks.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDAException.h>
#include <c10/util/StringUtil.h>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

namespace tilescope::engine {

namespace {

using kernels::kMaxPeers;

/// CUDA recommends sharing whole pages of this size.
constexpr std::size_t kOwnBytes = std::size_t{2} << 20;
constexpr std::uint32_t kLongAfter = 1U << 30; ///< added to a barrier's value to end all waits

kernels::ElementType elementTypeOf(const at::Tensor& tensor)
{
    switch (tensor.scalar_type()) {
    case at::kFloat:
        return kernels::ElementType::Float32;
    case at::kDouble:
        return kernels::ElementType::Float64;
    case at::kBFloat16:
        return kernels::ElementType::BFloat16;
    case at::kHalf:
        return kernels::ElementType::Float16;
    default:
        throw Unsupported{c10::str("ranks add up floating-point numbers, not ", tensor.scalar_type())};
    }
}

/// The problem of the first rank that has one; empty if no rank has a problem. Every rank calls it.
std::string agreedOn(const RankInfo& rankInfo, Board& board, const std::string& problem)
{
    constexpr std::size_t kMost = 300;
    board.turn();
    const std::string text = problem.substr(0, kMost);
    std::memcpy(board.slot(rankInfo.rank), text.c_str(), text.size() + 1);
    board.meet([] { return "the choice of a way to communicate"; }, {.first = 0, .bytes = text.size() + 1});
    for (int rank = 0; rank < rankInfo.size; ++rank)
        if (const std::string of(reinterpret_cast<const char*>(board.slot(rank)),
                                 strnlen(reinterpret_cast<const char*>(board.slot(rank)), kMost));
            !of.empty())
            return c10::str("rank ", rank, ": ", of);
    return {};
}

/// What prevents this GPU from reaching another; empty if nothing does.
std::string problemOfReaching(c10::Device device, const std::string& busId, bool needsNvlink)
{
    int other = 0;
    if (cudaDeviceGetByPCIBusId(&other, busId.c_str()) != cudaSuccess) {
        cudaGetLastError();
        return c10::str("it does not see the GPU at ", busId);
    }
    const auto has = [&](cudaDeviceP2PAttr attribute) {
        int value = 0;
        C10_CUDA_CHECK(cudaDeviceGetP2PAttribute(&value, attribute, device.index(), other));
        return value != 0;
    };
    if (!has(cudaDevP2PAttrAccessSupported))
        return c10::str("it does not reach the memory of the GPU at ", busId);
    if (needsNvlink && !has(cudaDevP2PAttrNativeAtomicSupported))
        return c10::str("NVLink does not connect it and the GPU at ", busId);
    return {};
}

class CopyTransport final : public Transport {
public:
    /// Allocates the memory that the other ranks write to.
    CopyTransport(const RankInfo& rankInfo, Board& board, at::Device device, c10::cuda::CUDAStream stream)
        : rankInfo_(rankInfo), board_(board), device_(device), stream_(stream), memory_(device.index())
    {
        C10_CUDA_CHECK(cudaMalloc(&own_, kOwnBytes));
        C10_CUDA_CHECK(cudaMemset(own_, 0, kOwnBytes));
        // Later it would be too late to find out that another process cannot open such memory.
        const at::Tensor any = at::empty({1}, at::device(device));
        std::vector<std::byte> description(Board::kSlotBytes);
        memory_.describe(std::vector<const void*>{own_, any.data_ptr()}, description.data());
    }

    // During an exception, another rank may never answer, so the destructor must not wait.
    ~CopyTransport() override
    {
        if (std::uncaught_exceptions() > 0)
            CopyTransport::abort();
        C10_CUDA_CHECK_WARN(cudaStreamSynchronize(stream_));
        C10_CUDA_CHECK_WARN(cudaFree(own_));
    }

    /// Opens the memory of the other ranks. Each rank calls it.
    /// \return  what prevents the connection; empty if nothing does
    std::string connect(bool needsNvlink)
    {
        exchange({own_}, [] { return "the exchange of memory"; });
        try {
            for (int peer = 0; peer < rankInfo_.size; ++peer) {
                if (peer == rankInfo_.rank)
                    continue;
                std::string problem =
                    problemOfReaching(device_, PeerMemory::busIdIn(board_.slot(peer)), needsNvlink);
                if (!problem.empty())
                    return problem;
                words_.at(static_cast<std::size_t>(peer)) = static_cast<std::uint32_t*>(addressOf(peer, 0));
            }
        } catch (const c10::Error& error) {
            cudaGetLastError();
            return condensed(error.what_without_backtrace());
        }
        return {};
    }

    std::string name() const override { return "copy engines"; }

    // The GPU starts to wait for the others before the host does, so that the recorded wait for a late rank
    // begins when this rank is ready.
    void begin(const std::vector<at::Tensor>& tensors, const std::function<std::string()>& title) override
    {
        meet();
        tensors_ = tensors;
        std::vector<const void*> addresses;
        for (const at::Tensor& tensor : tensors)
            addresses.push_back(tensor.data_ptr());
        exchange(addresses, title);
    }

    // Only adds up this rank's share. end() copies the other shares when every rank has added up its own.
    void allReduce(const at::Tensor& tensor) override
    {
        const MessageShare mine = shareOf(tensor.numel(), rankInfo_.rank, rankInfo_.size);
        const auto offset = mine.begin * static_cast<std::int64_t>(tensor.element_size());
        addUp(tensor, offset, bytesOf(tensor) + offset, mine.count());
        summed_.push_back(tensor);
    }

    void reduceScatter(const at::Tensor& output, const at::Tensor& input) override
    {
        const auto part = static_cast<std::int64_t>(input.nbytes()) / rankInfo_.size;
        addUp(input, rankInfo_.rank * part, output.data_ptr(), output.numel());
    }

    void allGather(const at::Tensor& output, const at::Tensor& input) override
    {
        const auto bytes = static_cast<std::int64_t>(input.nbytes());
        eachRank([&](int rank) { copy(bytesOf(output) + rank * bytes, bytesIn(rank, input), bytes); });
    }

    void broadcast(const at::Tensor& tensor, int root) override
    {
        copy(bytesOf(tensor), bytesIn(root, tensor), static_cast<std::int64_t>(tensor.nbytes()));
    }

    void allToAll(const at::Tensor& output, const at::Tensor& input) override
    {
        const auto part = static_cast<std::int64_t>(input.nbytes()) / rankInfo_.size;
        eachRank([&](int rank) {
            copy(bytesOf(output) + rank * part, bytesIn(rank, input) + rankInfo_.rank * part, part);
        });
    }

    void end() override
    {
        if (!summed_.empty())
            meet();
        for (const at::Tensor& tensor : summed_)
            eachRank([&](int rank) {
                const MessageShare share = shareOf(tensor.numel(), rank, rankInfo_.size);
                const auto width = static_cast<std::int64_t>(tensor.element_size());
                copy(bytesOf(tensor) + share.begin * width, bytesIn(rank, tensor) + share.begin * width,
                     share.count() * width);
            });
        summed_.clear();
        tensors_.clear();
        meet();
    }

    std::string failure() const override { return {}; }

    // Writes a value beyond that of any barrier, so that kernels stop waiting for other ranks.
    void abort() override
    {
        if (!std::exchange(isOpen_, false))
            return;
        std::array<std::uint32_t, kMaxPeers> ends{};
        ends.fill(value_ + kLongAfter);
        const auto beside = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device_.index());
        C10_CUDA_CHECK_WARN(
            cudaMemcpyAsync(own_, ends.data(), sizeof(ends), cudaMemcpyHostToDevice, beside.stream()));
        C10_CUDA_CHECK_WARN(cudaStreamSynchronize(beside.stream()));
    }
    bool isOpen() const override { return isOpen_; }

    std::unique_ptr<Transport> part(const RankInfo& rankInfo, Board& board, int /*color*/) override
    {
        std::string why;
        std::unique_ptr<Transport> made =
            connectByCopies(rankInfo, board, device_, stream_, /*needsNvlink=*/false, why);
        if (!made)
            throw Error{.what = c10::str("a part of the ranks cannot communicate like the whole: ", why),
                        .kind = ErrorKind::Environment};
        return made;
    }

private:
    static std::byte* bytesOf(const at::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

    void meet()
    {
        kernels::meetCuda({.ranks = rankInfo_.size,
                           .rank = rankInfo_.rank,
                           .value = ++value_,
                           .own = own_,
                           .words = words_},
                          stream_.stream());
    }

    /// Exchanges the addresses of tensors with the other ranks.
    void exchange(const std::vector<const void*>& addresses, const std::function<std::string()>& title)
    {
        board_.turn();
        const std::size_t bytes = memory_.describe(addresses, board_.slot(rankInfo_.rank));
        board_.meet(title, {.first = 0, .bytes = bytes});
    }

    void* addressOf(int rank, std::size_t index) { return memory_.addressOf(rank, board_.slot(rank), index); }

    /// The memory of another rank's tensor that corresponds to this rank's `tensor`.
    std::byte* bytesIn(int rank, const at::Tensor& tensor)
    {
        if (rank == rankInfo_.rank)
            return bytesOf(tensor);
        const auto found =
            std::ranges::find_if(tensors_, [&](const at::Tensor& each) { return each.is_same(tensor); });
        return static_cast<std::byte*>(addressOf(rank, static_cast<std::size_t>(found - tensors_.begin())));
    }

    /// Visits each rank once, beginning with the one after this rank, so that no two ranks read from the same
    /// GPU at once.
    template <class Visit> void eachRank(const Visit& visit)
    {
        for (int i = 1; i <= rankInfo_.size; ++i)
            visit((rankInfo_.rank + i) % rankInfo_.size);
    }

    void copy(void* to, const void* from, std::int64_t bytes)
    {
        if (to != from && bytes > 0)
            C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                                           stream_.stream()));
    }

    /// Adds up `count` elements of all ranks' `tensor`, from the byte `offset` on.
    void addUp(const at::Tensor& tensor, std::int64_t offset, void* to, std::int64_t count)
    {
        if (count == 0)
            return;
        kernels::SumOfRanks sum{
            .ranks = rankInfo_.size, .rank = rankInfo_.rank, .count = count, .from = {}, .to = to};
        for (int rank = 0; rank < rankInfo_.size; ++rank)
            sum.from.at(static_cast<std::size_t>(rank)) = bytesIn(rank, tensor) + offset;
        kernels::sumOfRanksCuda(elementTypeOf(tensor), sum, stream_.stream());
    }

    const RankInfo rankInfo_;
    Board& board_;
    const c10::Device device_;
    const c10::cuda::CUDAStream stream_;
    PeerMemory memory_;
    std::uint32_t* own_ = nullptr;                  ///< one word per rank, written by that rank
    std::array<std::uint32_t*, kMaxPeers> words_{}; ///< the words of each other rank
    std::uint32_t value_ = 0;                       ///< value of the last barrier
    bool isOpen_ = true;
    std::vector<at::Tensor> tensors_; ///< of the collective in progress
    std::vector<at::Tensor> summed_;  ///< those of `tensors_` that still lack shares of other ranks
};

} // namespace

std::unique_ptr<Transport> connectByCopies(const RankInfo& rankInfo, Board& board, c10::Device device,
                                           c10::cuda::CUDAStream stream, bool needsNvlink, std::string& why)
{
    std::string problem;
    std::unique_ptr<CopyTransport> made;
    if (rankInfo.hub.isKnown())
        problem = "the ranks are on several nodes";
    else if (rankInfo.size < 2 || rankInfo.size > kMaxPeers)
        problem = c10::str("it takes 2 to ", kMaxPeers, " ranks");
    else
        try {
            made = std::make_unique<CopyTransport>(rankInfo, board, device, stream);
        } catch (const c10::Error& error) {
            cudaGetLastError();
            problem = condensed(error.what_without_backtrace());
        }
    why = agreedOn(rankInfo, board, problem);
    if (!why.empty())
        return nullptr;
    why = agreedOn(rankInfo, board, made->connect(needsNvlink));
    return why.empty() ? std::move(made) : nullptr;
}

} // namespace tilescope::engine
