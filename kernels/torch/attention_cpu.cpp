// The CPU backend: runs the plain C++ kernels on LibTorch's threads. Compiled with OpenMP, without which
// at::parallel_for is serial.
#include "kernels/torch/attention_op.h"

#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <atomic>

namespace tilescope::kernels {

namespace {

/// Each thread takes the next task when it has finished one, because causal tasks differ in length.
void runTasks(std::int64_t count, const std::function<void(std::int64_t)>& body)
{
    std::atomic<std::int64_t> next{0};
    const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), count);
    at::parallel_for(0, threads, 1, [&](std::int64_t, std::int64_t) {
        for (std::int64_t task = next++; task < count; task = next++) {
            body(task);
        }
    });
}

} // namespace

void launchForwardCpu(const AttentionProblem& problem, ForwardTensors tensors)
{
    const c10::DataPtr workspace = c10::GetCPUAllocator()->allocate(cpuForwardWorkspaceBytes(problem));
    tensors.workspace = workspace.get();
    attentionForwardCpu(problem, tensors, runTasks);
}

void launchBackwardCpu(const AttentionProblem& problem, BackwardTensors tensors)
{
    const int threads = at::get_num_threads();
    const c10::DataPtr workspace =
        c10::GetCPUAllocator()->allocate(cpuBackwardWorkspaceBytes(problem, threads));
    tensors.workspace = workspace.get();
    attentionBackwardCpu(problem, tensors, threads, runTasks);
}

} // namespace tilescope::kernels
