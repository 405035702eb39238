#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace tilescope::engine {

/// Runs work beside the current stream of a GPU. Nothing may need its results before join(). On a CPU, the
/// work runs immediately. May be used while a CUDA graph is captured. Session thread.
class SideStream {
public:
    /// Urgent work has the priority of DeviceScope's own stream; background work uses the resources that both leave free.
    enum class Priority { Urgent, Background };
    SideStream(at::Device device, Priority priority);
    ~SideStream();
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;

    /// Runs `work` after the work queued on the current stream so far. It must not allocate tensors that outlive it.
    /// \param operands  kept alive until the work is known to be complete, because the allocator would otherwise
    ///                  reuse their memory for the current stream
    void run(std::vector<at::Tensor> operands, const std::function<void()>& work);
    /// Makes the current stream wait for all work so far.
    void join();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_; // null on a CPU
};

} // namespace tilescope::engine
