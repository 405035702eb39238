#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

namespace tilescope::engine {

/// Work beside the current stream of a GPU, for work that nothing waits for until the end of a phase. On a CPU
/// the work runs at once. May be used while a CUDA graph is captured. Session thread.
class SideStream {
public:
    /// Urgent work shares the GPU with the work of DeviceScope's own stream; other work fills what both leave.
    enum class Priority { Urgent, Background };
    SideStream(at::Device device, Priority priority);
    ~SideStream();
    SideStream(const SideStream&) = delete;
    SideStream& operator=(const SideStream&) = delete;

    /// Runs `work` after the work that the current stream has so far. It must not allocate what outlives it.
    /// \param operands  kept until the work is known to be done, because the allocator would reuse their memory
    ///                  for the current stream
    void run(std::vector<at::Tensor> operands, const std::function<void()>& work);
    /// The current stream waits for all of the work.
    void join();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_; // null on a CPU
};

} // namespace tilescope::engine
