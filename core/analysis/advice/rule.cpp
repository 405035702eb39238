#include "core/analysis/advice/rule.h"

#include <array>

namespace tilescope::analysis {

std::string_view wordOf(AdviceRule rule)
{
    static constexpr std::array<std::string_view, kAdviceRules> kWords{
        "launch-bound",       "small-kernels",     "synchronization",
        "pageable-copy",      "exposed-copy",      "exposed-communication",
        "low-occupancy",      "tensor-cores",      "conversions",
        "recomputation",      "fragmentation",     "data-loading",
        "late-rank",          "late-gather",       "kernel-stalls",
        "garbage-collection", "host-optimizer",    "logging",
        "start-up",           "host-copies",       "small-collectives",
        "uneven-ranks",       "conv-layouts",      "eager-steps",
        "idle-tensor-pipe",   "excess-traffic",    "low-issue",
        "reduced-clocks",     "host-bound-decode", "growing-attention",
        "small-batch",        "stalling-prefill",  "host-sampling",
        "iteration-copies"};
    return kWords[static_cast<std::size_t>(rule)];
}

} // namespace tilescope::analysis
