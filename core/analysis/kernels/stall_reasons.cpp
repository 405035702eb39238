#include "core/analysis/kernels/stall_reasons.h"

#include <algorithm>
#include <array>

namespace tilescope::analysis {

namespace {

constexpr std::array kReasons{
    StallReason{"selected", "issues", "The warp issues an instruction.", "", false},
    StallReason{"not_selected", "another warp issues",
                "The warp could issue an instruction, but another warp of its scheduler was chosen.",
                "There is enough work: fewer warps, with more registers or shared memory each, would do.",
                false},
    StallReason{
        "long_scoreboard", "waits for device memory",
        "The warp waits for a load from device memory or the L2 cache.",
        "Load earlier or asynchronously (num_stages, cp.async, TMA), coalesce accesses, keep reused data in "
        "shared memory, or run more warps."},
    StallReason{"short_scoreboard", "waits for shared memory",
                "The warp waits for shared memory, a shuffle or a special function such as exp.",
                "Remove bank conflicts (pad or swizzle), reduce within registers, use exp2 and fewer special "
                "functions."},
    StallReason{
        "barrier", "waits at a barrier", "The warp waits for other warps of its block at a barrier.",
        "Give the warps equal work, use smaller blocks or fewer barriers, or specialize warps so that loads "
        "run ahead (num_warps, num_stages)."},
    StallReason{
        "math_pipe_throttle", "the math pipe is full",
        "The pipe that executes the instruction is busy, such as that of the tensor cores.",
        "That is good for a matrix product; otherwise mix in other instructions, or use lower precision."},
    StallReason{"wait", "waits for the instruction before",
                "The warp waits a fixed time for the result of its own instruction before.",
                "Unroll, or work on several independent values per thread."},
    StallReason{"warpgroup_arrive", "waits for a warpgroup",
                "The warp waits for the other warps of its group before a tensor-core instruction (wgmma).",
                "Issue more independent products per wait, or keep the warps of a group in step."},
    StallReason{
        "gmma", "waits for tensor cores", "The warp waits for a tensor-core instruction (wgmma) to end.",
        "That is good if the tensor cores are busy; otherwise use larger tiles or overlap softmax with "
        "products."},
    StallReason{"lg_throttle", "the load/store queue is full",
                "The queue of loads and stores of device and local memory is full.",
                "Use wider accesses (16 bytes per thread), fewer of them, and avoid spilled registers."},
    StallReason{"mio_throttle", "the shared-memory queue is full",
                "The queue of shared memory, special functions and dynamic branches is full.",
                "Use wider accesses of shared memory and fewer special functions."},
    StallReason{"tex_throttle", "the texture queue is full",
                "The queue of texture and surface accesses is full.",
                "Use fewer texture accesses, or ordinary loads."},
    StallReason{"no_instructions", "waits for code", "The next instruction is not in the instruction cache.",
                "Make the code smaller: unroll less, inline less."},
    StallReason{"imc_miss", "waits for constants", "A constant is not in the constant cache.",
                "Read fewer different constants, or the same one in all threads of a warp."},
    StallReason{"branch_resolving", "waits for a branch", "The target of a branch is being computed.",
                "Use fewer branches and shorter loops, or predication."},
    StallReason{"dispatch_stall", "the dispatcher waits",
                "The dispatcher holds the instruction back, for example for a register port.",
                "Seldom a reason of its own; look at the instructions around it."},
    StallReason{"drain", "waits for stores", "The warp has ended and waits until its stores are in memory.",
                "Coalesce the stores at the end of the kernel."},
    StallReason{"membar", "waits at a memory fence", "The warp waits for a memory fence.",
                "Use fewer or narrower fences (block instead of device)."},
    StallReason{"sleeping", "sleeps", "All threads of the warp sleep (nanosleep).",
                "Sleep for a shorter time, or do not poll."},
    StallReason{"misc", "other", "The warp waits for another reason.", ""}};

} // namespace

StallReason stallReason(std::string_view key)
{
    const auto* const known = std::ranges::find(kReasons, key, &StallReason::key);
    if (known != kReasons.end())
        return *known;
    return {.key = key, .name = key, .sentence = {}, .remedy = {}};
}

} // namespace tilescope::analysis
