#pragma once

#include "core/model/rank_info.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tilescope::engine {

class Board;

/// Moves data within a group of ranks with one GPU each. Calls queue work on the stream of the group and return. One thread
/// at a time; the GPU must be the current device. As with Ranks, each rank makes the same calls with the same sizes.
class Transport {
public:
    Transport() = default;
    virtual ~Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;

    virtual std::string name() const = 0; ///< NCCL 2.28.9

    /// Begins a collective, which consists of the calls up to end().
    /// \param tensors  all tensors of these calls
    /// \param title    title of the collective, for error messages
    /// \throws LostRank
    virtual void begin(const std::vector<at::Tensor>& tensors, const std::function<std::string()>& title) = 0;
    virtual void allReduce(const at::Tensor& tensor) = 0;
    virtual void allGather(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void reduceScatter(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void broadcast(const at::Tensor& tensor, int root) = 0;
    virtual void allToAll(const at::Tensor& output, const at::Tensor& input) = 0;
    virtual void end() = 0;

    /// Why queued work has failed; empty if it has not.
    virtual std::string failure() const = 0;
    /// Ends queued work that waits for other ranks. Only isOpen() may be called afterwards.
    virtual void abort() = 0;
    virtual bool isOpen() const = 0; ///< not aborted

    /// Creates the transport of a part of the group. Each rank of this group must call it.
    /// \param color  equal for the members of a part, different between parts
    virtual std::unique_ptr<Transport> part(const RankInfo& rankInfo, Board& board, int color) = 0;
};

} // namespace tilescope::engine
