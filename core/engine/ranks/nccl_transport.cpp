#include "core/engine/ranks/nccl_transport.h"

#include "core/base/error.h"
#include "core/engine/common/failure.h"
#include "core/engine/ranks/board.h"
#include "core/engine/ranks/nccl_api.h"
#include "core/engine/ranks/transport.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cstring>
#include <exception>
#include <utility>

namespace tilescope::engine {

namespace {

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

void require(NcclApi::Result result, int rank)
{
    if (result == NcclApi::Success)
        return;
    const NcclApi& nccl = NcclApi::instance();
    const char* detail = nccl.getLastError(nullptr);
    throw Error{.what = c10::str("NCCL failed: ", nccl.getErrorString(result),
                                 detail && *detail ? c10::str(" (", detail, ")") : std::string()),
                .where = c10::str("rank ", rank),
                .remedy = "set NCCL_DEBUG=WARN to see what it reports",
                .kind = ErrorKind::Environment};
}

class NcclTransport final : public Transport {
public:
    NcclTransport(NcclApi::Comm comm, int rank, int size, c10::cuda::CUDAStream stream)
        : comm_(comm), rank_(rank), size_(size), stream_(stream)
    {
    }

    // During an exception, another rank may never answer, so the destructor must not wait.
    ~NcclTransport() override
    {
        if (std::uncaught_exceptions() > 0)
            NcclTransport::abort();
        else if (comm_)
            nccl_.commDestroy(comm_);
    }

    std::string name() const override
    {
        int version = 0;
        nccl_.getVersion(&version);
        return c10::str("NCCL ", version / 10'000, ".", version / 100 % 100, ".", version % 100);
    }

    void begin(const std::vector<at::Tensor>& /*tensors*/,
               const std::function<std::string()>& /*title*/) override
    {
        require(nccl_.groupStart());
    }
    void end() override { require(nccl_.groupEnd()); }

    void allReduce(const at::Tensor& tensor) override
    {
        require(nccl_.allReduce(tensor.data_ptr(), tensor.data_ptr(), countOf(tensor),
                                typeOf(tensor.scalar_type()), NcclApi::Sum, comm_, stream_.stream()));
    }

    void allGather(const at::Tensor& output, const at::Tensor& input) override
    {
        require(nccl_.allGather(input.data_ptr(), output.data_ptr(), countOf(input),
                                typeOf(input.scalar_type()), comm_, stream_.stream()));
    }

    void reduceScatter(const at::Tensor& output, const at::Tensor& input) override
    {
        require(nccl_.reduceScatter(input.data_ptr(), output.data_ptr(), countOf(output),
                                    typeOf(input.scalar_type()), NcclApi::Sum, comm_, stream_.stream()));
    }

    void broadcast(const at::Tensor& tensor, int root) override
    {
        require(nccl_.broadcast(tensor.data_ptr(), tensor.data_ptr(), countOf(tensor),
                                typeOf(tensor.scalar_type()), root, comm_, stream_.stream()));
    }

    void allToAll(const at::Tensor& output, const at::Tensor& input) override
    {
        const std::size_t count = countOf(input) / static_cast<std::size_t>(size_);
        const NcclApi::DataType type = typeOf(input.scalar_type());
        const std::size_t bytes = count * input.element_size();
        for (int peer = 0; peer < size_; ++peer) {
            const std::size_t at = static_cast<std::size_t>(peer) * bytes;
            require(nccl_.send(static_cast<const char*>(input.data_ptr()) + at, count, type, peer, comm_,
                               stream_.stream()));
            require(nccl_.receive(static_cast<char*>(output.data_ptr()) + at, count, type, peer, comm_,
                                  stream_.stream()));
        }
    }

    std::string failure() const override
    {
        NcclApi::Result result = NcclApi::Success;
        if (comm_)
            nccl_.commGetAsyncError(comm_, &result);
        return result == NcclApi::Success || result == NcclApi::InProgress ? std::string()
                                                                           : nccl_.getErrorString(result);
    }

    void abort() override
    {
        if (comm_)
            nccl_.commAbort(std::exchange(comm_, nullptr));
    }

    bool isOpen() const override { return comm_ != nullptr; }

    std::unique_ptr<Transport> part(const RankInfo& rankInfo, Board& /*board*/, int color) override
    {
        NcclApi::Comm comm = nullptr;
        require(nccl_.commSplit(comm_, color, rankInfo.rank, &comm, nullptr));
        return std::make_unique<NcclTransport>(comm, rankInfo.rank, rankInfo.size, stream_);
    }

private:
    void require(NcclApi::Result result) const { engine::require(result, rank_); }

    const NcclApi& nccl_ = NcclApi::instance();
    NcclApi::Comm comm_; ///< null: aborted
    const int rank_;
    const int size_;
    const c10::cuda::CUDAStream stream_;
};

/// Distributes the id that rank 0 creates to every rank.
NcclApi::UniqueId exchangedId(const RankInfo& rankInfo, Board& board)
{
    NcclApi::UniqueId id{};
    if (rankInfo.rank == 0)
        require(NcclApi::instance().getUniqueId(&id), rankInfo.rank);
    board.turn();
    if (rankInfo.rank == 0)
        std::memcpy(board.slot(0), &id, sizeof(id));
    board.meet([] { return "the exchange of NCCL's id"; },
               {.first = 0, .bytes = rankInfo.rank == 0 ? sizeof(id) : 0});
    std::memcpy(&id, board.slot(0), sizeof(id));
    return id;
}

} // namespace

std::unique_ptr<Transport> connectByNccl(const RankInfo& rankInfo, Board& board, c10::cuda::CUDAStream stream)
{
    const NcclApi::UniqueId id = exchangedId(rankInfo, board);
    NcclApi::Comm comm = nullptr;
    require(NcclApi::instance().commInitRank(&comm, rankInfo.size, id, rankInfo.rank), rankInfo.rank);
    return std::make_unique<NcclTransport>(comm, rankInfo.rank, rankInfo.size, stream);
}

} // namespace tilescope::engine
