#include "core/query/advice/advice_words.h"

namespace tilescope::query {

using analysis::AdviceRule;

std::string_view boundOf(AdviceRule rule, bool onGpu)
{
    switch (rule) {
    case AdviceRule::LaunchBound:
        return "the idle time of the GPU before the host's next launch, without what follows a "
               "synchronization; it counts for the module that is launched next";
    case AdviceRule::SmallKernels:
        return "series of kernels shorter than 10 µs on one stream, less than 10 µs apart: their time and "
               "the "
               "gaps between them, without the longest of each series and without time in which anything "
               "else "
               "runs";
    case AdviceRule::Synchronization:
        return "the idle time of the GPU during calls that wait for it, and from there until its next "
               "activity, at most as long as work was outstanding when the call began";
    case AdviceRule::PageableCopy:
        return "the time of these copies in which no kernel runs";
    case AdviceRule::ExposedCopy:
        return "the time of these copies in which no kernel runs, in each step at most the time of kernels "
               "beside which none of them runs";
    case AdviceRule::ExposedCommunication:
        return "the time of communication in which no compute kernel runs, in each step at most the time of "
               "compute beside which no communication runs";
    case AdviceRule::LowOccupancy:
        return "the time of kernels of 10 µs and more whose launch allows less than half of the warps, times "
               "the "
               "share of warps that it does not allow, where nothing else runs; matrix products and "
               "attention "
               "are left out, because they need few warps";
    case AdviceRule::TensorCores:
        return "the time of these kernels where nothing else runs, times 1 - fp32 rate / fastest rate of the "
               "tensor cores, by the data sheet";
    case AdviceRule::Conversions:
        return "by module, where nothing else runs: the time of conversions less what they save, which is at "
               "most the time of the module's bf16, fp16 and fp8 products times (bf16 rate / fp32 rate - 1) "
               "by the "
               "data sheet";
    case AdviceRule::Recomputation:
        return onGpu ? "the time of kernels of forward ops that run again within backward, where nothing "
                       "else runs"
                     : "the time of forward ops that run again within backward";
    case AdviceRule::Fragmentation:
        return "the idle time of the GPU during calls that take memory from the driver or return it";
    case AdviceRule::DataLoading:
        return onGpu ? "the idle time of the GPU within the named ranges, ops or functions"
                     : "the time within the named ranges, ops or functions";
    case AdviceRule::LateRank:
        return "the time in collectives until the last rank starts, where no compute kernel runs";
    case AdviceRule::LateGather:
        return "the time for which the stream of the work stands still until the gather ends, where no "
               "compute "
               "kernel runs";
    case AdviceRule::KernelStalls:
        return "the time of sampled kernels where nothing else runs, times the share of their issue slots "
               "that are "
               "empty for the most frequent stall reason of the kernel";
    case AdviceRule::GarbageCollection:
        return "the idle time of the GPU in which samples of the host saw Python collect garbage";
    case AdviceRule::HostOptimizer:
        return "the idle time of the GPU in which samples of the host were within the step of an optimizer";
    case AdviceRule::Logging:
        return "the idle time of the GPU in which samples of the host were within logging, progress bars or "
               "trackers "
               "of experiments";
    case AdviceRule::StartUp:
        return "the idle time of the GPU during these calls, functions and ranges; they are what a process "
               "does "
               "once";
    case AdviceRule::HostCopies:
        return "the time of copies between host and GPU in which no kernel runs";
    case AdviceRule::SmallCollectives:
        return "the time of all-reduces of at most 256 KiB in which no compute kernel runs, without the "
               "longest of "
               "each "
               "step";
    case AdviceRule::UnevenRanks:
        return "by rank, the time of compute kernels of the rank that computes longest, less the mean of all "
               "ranks";
    case AdviceRule::ConvolutionLayouts:
        return "the time of these kernels where nothing else runs";
    case AdviceRule::EagerSteps:
        return "the idle time of the GPU in steps that replay no graph, while others do";
    case AdviceRule::IdleTensorPipe:
        return "the time of products and attention whose tensor pipe works less than 80 % of the time, where "
               "nothing else runs, times the share of the time in which it does not work";
    case AdviceRule::ExcessTraffic:
        return "the time of kernels that move at least a quarter more bytes of device memory than their ops "
               "read and write, where nothing else runs, times the share of the peak that they move, times "
               "the "
               "share of their bytes above those of the ops";
    case AdviceRule::LowIssue:
        return "the time of kernels whose launch allows at least half of the warps, which use less than half "
               "of their issue slots and less than 60 % of the tensor pipe and of device memory, where "
               "nothing else runs, times 1 - used issue slots / one half";
    case AdviceRule::ReducedClocks:
        return "the time of kernels while the GPU reports a power cap, heat or a hardware limit, times 1 - "
               "their mean clock / the GPU's highest clock";
    case AdviceRule::HostBoundDecode:
        return "the idle time of the GPU in decode iterations, without what was not recorded";
    case AdviceRule::GrowingAttention:
        return "the time of attention beyond that at the shortest context of the decode iterations, by a "
               "straight line through their times";
    case AdviceRule::SmallBatch:
        return "half of the time of products in decode iterations: what twice as many sequences save for "
               "each";
    case AdviceRule::StallingPrefill:
        return "the time of prefill iterations between decode iterations; where they decode other sequences "
               "too, less the median decode iteration";
    case AdviceRule::HostSampling:
        return "in decode iterations, the time from the start of these copies until the GPU's next work";
    case AdviceRule::IterationCopies:
        return "the time of these copies in decode iterations in which nothing else runs";
    }
    return {};
}

std::string_view remedyOf(AdviceRule rule)
{
    switch (rule) {
    case AdviceRule::LaunchBound:
        return "Replay the step as a CUDA graph (torch.compile with mode reduce-overhead), or launch fewer "
               "and "
               "larger kernels.";
    case AdviceRule::SmallKernels:
        return "Fuse them: torch.compile for chains of element-wise work, a fused optimizer, one product "
               "instead "
               "of several.";
    case AdviceRule::Synchronization:
        return "Leave out the wait: keep values on the GPU (no .item(), .cpu() or print of a tensor in the "
               "step), "
               "or read them one step later.";
    case AdviceRule::PageableCopy:
        return "Copy from page-locked memory with non_blocking=True (pin_memory of the data loader, "
               "Tensor.pin_memory()).";
    case AdviceRule::ExposedCopy:
        return "Copy on another stream while kernels run, and copy the next batch one step ahead.";
    case AdviceRule::ExposedCommunication:
        return "Start collectives as soon as their data is ready (smaller buckets of gradients, prefetched "
               "all-gathers), and look for a late rank with show ranks.";
    case AdviceRule::LowOccupancy:
        return "Change what limits the kernel: more blocks (grid size), other blocks (block size), fewer "
               "registers "
               "(__launch_bounds__, num_warps) or less shared memory a block.";
    case AdviceRule::TensorCores:
        return "Allow TF32 (torch.set_float32_matmul_precision('high')), or compute in bf16 "
               "(torch.autocast).";
    case AdviceRule::Conversions:
        return "Keep weights and activations in the type in which they are used, or fuse the conversion into "
               "the "
               "kernel beside it (torch.compile).";
    case AdviceRule::Recomputation:
        return "Checkpoint fewer blocks if memory allows, or repeat only what is cheap (selective "
               "checkpointing).";
    case AdviceRule::Fragmentation:
        return "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and keep the sizes of allocations the "
               "same "
               "from step to step.";
    case AdviceRule::DataLoading:
        return "Load the next batch in other processes while this one is computed (num_workers, "
               "prefetch_factor), "
               "or prepare the data ahead.";
    case AdviceRule::LateRank:
        return "Find out what that rank does before its collectives: show waiting --rank names the lines "
               "where its "
               "GPU waits for its host; otherwise compare its timeline with another rank's, and look for "
               "more work or "
               "a slower GPU.";
    case AdviceRule::LateGather:
        return "Gather the weights of a layer earlier (prefetch one more layer), or gather fewer bytes (bf16 "
               "weights, larger layers per gather).";
    case AdviceRule::KernelStalls:
        return "Look at the lines with show inside.";
    case AdviceRule::GarbageCollection:
        return "Call gc.freeze() after the set-up, and gc.disable() with a gc.collect() between epochs; keep "
               "fewer "
               "objects that refer to each other.";
    case AdviceRule::HostOptimizer:
        return "Use the fused optimizer (fused=True), whose step is a few launches, or compile its step.";
    case AdviceRule::Logging:
        return "Log every N steps, and values that are on the host already.";
    case AdviceRule::StartUp:
        return "It happens once: record more steps, or leave the beginning out (record --delay). Between "
               "runs, keep "
               "what was compiled (TORCHINDUCTOR_CACHE_DIR, a cache of XLA); kernels are loaded at their "
               "first launch, "
               "so run one step before what matters.";
    case AdviceRule::HostCopies:
        return "Copy less: keep what does not change on the GPU, copy it in the type in which it is used, "
               "and make it "
               "there if it can be computed.";
    case AdviceRule::SmallCollectives:
        return "Join them: larger buckets of gradients (bucket_cap_mb), one all-reduce for several values, "
               "or a "
               "coalescing manager.";
    case AdviceRule::UnevenRanks:
        return "Give that rank less work: balance the stages of a pipeline, the experts, or the lengths of "
               "sequences.";
    case AdviceRule::ConvolutionLayouts:
        return "Keep model and input in channels_last (model.to(memory_format=torch.channels_last)), as the "
               "kernels "
               "want "
               "it.";
    case AdviceRule::EagerSteps:
        return "Find out why these steps were not replayed: shapes that were not captured, a graph break, or "
               "a path "
               "that was compiled without graphs (torch._inductor.config.triton.cudagraphs).";
    case AdviceRule::IdleTensorPipe:
        return "Look at what the warps wait for (show inside): load tiles earlier and more of them (stages), "
               "use "
               "larger tiles, and let other warps do what is between the products.";
    case AdviceRule::ExcessTraffic:
        return "Read neighbouring addresses with neighbouring threads, keep what is read again in shared "
               "memory or L2 (order of tiles), and avoid strided layouts.";
    case AdviceRule::LowIssue:
        return "More warps would not help: shorten what each waits for (independent instructions, loads "
               "ahead "
               "of their use, fewer barriers).";
    case AdviceRule::ReducedClocks:
        return "Compare runs at the same clocks (nvidia-smi --lock-gpu-clocks), raise the power limit if it "
               "is below that of the card (nvidia-smi -q -d POWER), or cool the machine.";
    case AdviceRule::HostBoundDecode:
        return "Replay the decode iteration as a CUDA graph with a static cache: "
               "cache_implementation=\"static\" and torch.compile(mode=\"reduce-overhead\"); in servers "
               "leave "
               "enforce_eager off.";
    case AdviceRule::GrowingAttention:
        return "Read less of the cache: fewer heads of keys and values, a sliding window or a quantised "
               "cache; "
               "and use a kernel that splits the keys over the GPU.";
    case AdviceRule::SmallBatch:
        return "Decode more sequences at once; if there are none, smaller weights (fp8, int4) or speculative "
               "decoding.";
    case AdviceRule::StallingPrefill:
        return "Process prompts in chunks (chunked prefill with fewer tokens in an iteration), or on other "
               "GPUs.";
    case AdviceRule::HostSampling:
        return "Choose tokens on the GPU and copy only these, or copy them while the next iteration runs.";
    case AdviceRule::IterationCopies:
        return "Write new keys and values into a cache of fixed size instead of joining it anew, and keep "
               "what "
               "does not change on the GPU.";
    }
    return {};
}

} // namespace tilescope::query
