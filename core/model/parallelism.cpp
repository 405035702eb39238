#include "core/model/parallelism.h"

#include "core/model/text.h"

namespace tilescope {

namespace {

/// The largest divisor whose square is at most `number`.
int nearSquareDivisor(int number)
{
    int found = 1;
    for (int candidate = 2; candidate * candidate <= number; ++candidate)
        if (number % candidate == 0)
            found = candidate;
    return found;
}

} // namespace

RankGrid gridOf(const ExperimentSpec& spec)
{
    if (spec.parallel == Parallel::Tp)
        return {.data = 1, .tensor = spec.gpus};
    const int tensor = spec.parallel == Parallel::FsdpTp ? nearSquareDivisor(spec.gpus) : 1;
    return {.data = spec.gpus / tensor, .tensor = tensor};
}

bool hasRanks(const ExperimentSpec& spec)
{
    return spec.workload == Workload::Collective ||
           (spec.workload == Workload::Lm && spec.parallel != Parallel::None);
}

bool replaysGraphs(const ExperimentSpec& spec)
{
    return spec.compile.isCaptured() && !hasRanks(spec);
}

std::string_view valueWithoutRanks(std::string_view key)
{
    return key == "gpus" ? "1" : key == "parallel" ? wordOf(Parallel::None) : std::string_view();
}

bool hasBuckets(Parallel parallel)
{
    return parallel == Parallel::Ddp || shardsOptimizerOnly(parallel);
}

bool shardsOptimizerOnly(Parallel parallel)
{
    return parallel == Parallel::OptimizerSharding || parallel == Parallel::Zero1;
}

std::int64_t bytesOf(MessageDtype type)
{
    return type == MessageDtype::Fp32 ? 4 : 2;
}

} // namespace tilescope
