#include "core/predict/communication.h"

#include "core/model/language_model.h"
#include "core/model/parallelism.h"

#include <numeric>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kFloatBytes = 4;
constexpr int kSumsOfABlock = 2; ///< of tp in one direction: after attention and after the feed-forward part

/// Share of a message that a rank sends in an all-gather or reduce-scatter among n.
double ringShare(int n)
{
    return static_cast<double>(n - 1) / n;
}

/// Bytes of an element as products compute with it.
double productBytes(const ExperimentSpec& spec)
{
    using enum Precision;
    return spec.precision == Bf16 || spec.precision == Fp16 || spec.precision == Fp8 ? 2 : kFloatBytes;
}

std::int64_t matrixElementsOfABlock(const ExperimentSpec& spec)
{
    std::int64_t elements = 0;
    for (const LinearMap& map : blockMaps(spec))
        elements += map.in * map.out;
    return elements;
}

/// Bytes of the norms of all blocks.
double normBytes(const ExperimentSpec& spec)
{
    return static_cast<double>(2 * spec.layers * spec.dModel * kFloatBytes);
}

/// Elements of the matrices of all blocks that a rank has before fsdp divides them.
double blockElements(const ExperimentSpec& spec)
{
    return static_cast<double>(spec.layers * matrixElementsOfABlock(spec)) / gridOf(spec).tensor;
}

void addShardedWeights(const ExperimentSpec& spec, StepTraffic& traffic)
{
    const double share = ringShare(gridOf(spec).data);
    const LinearMap head = headMap(spec);
    const auto headElements = static_cast<double>(head.in * head.out);
    const auto otherBytes = static_cast<double>((spec.vocab + 1) * spec.dModel * kFloatBytes);
    const double blocks = blockElements(spec) * productBytes(spec) + normBytes(spec);
    const double gradients =
        (blockElements(spec) + headElements) * kFloatBytes + normBytes(spec) + otherBytes;
    const auto layers = static_cast<double>(spec.layers);
    traffic.forward.beside += share * (blocks + headElements * productBytes(spec) + otherBytes);
    traffic.backward.beside += share * (blocks * (layers - 1) / layers + gradients);
}

void addTensorParts(const ExperimentSpec& spec, StepTraffic& traffic)
{
    const auto elements = static_cast<double>(spec.batch * spec.context * spec.dModel);
    const double sumOfABlock = kSumsOfABlock * 2 * ringShare(gridOf(spec).tensor) * elements;
    const std::vector<int> again =
        recomputations(recomputationPlan(spec.checkpointing, spec.layers), spec.layers);
    const int recomputed = std::accumulate(again.begin(), again.end(), 0);
    const auto layers = static_cast<double>(spec.layers);
    traffic.forward.alone += layers * sumOfABlock * productBytes(spec);
    traffic.backward.alone += sumOfABlock * (layers * kFloatBytes + recomputed * productBytes(spec));
}

} // namespace

PhaseTraffic StepTraffic::of(Phase phase) const
{
    switch (phase) {
    case Phase::Forward:
        return forward;
    case Phase::Backward:
        return backward;
    case Phase::Optimizer:
        return optimizer;
    default:
        return {};
    }
}

std::int64_t parameterBytes(const ExperimentSpec& spec)
{
    const LinearMap head = headMap(spec);
    const std::int64_t block = 2 * spec.dModel + matrixElementsOfABlock(spec); // two norms
    return kFloatBytes * ((spec.vocab + 1) * spec.dModel + spec.layers * block + head.in * head.out);
}

StepTraffic trafficOf(const ExperimentSpec& spec)
{
    const double once = ringShare(gridOf(spec).data) * static_cast<double>(parameterBytes(spec));
    StepTraffic traffic;
    switch (spec.parallel) {
    case Parallel::None:
        break;
    case Parallel::DdpNaive:
    case Parallel::DdpFlat:
        traffic.backward.alone = 2 * once;
        break;
    case Parallel::Ddp:
        traffic.backward.beside = 2 * once;
        break;
    case Parallel::OptimizerSharding:
        traffic.backward.beside = 2 * once;
        traffic.optimizer.alone = once;
        break;
    case Parallel::Zero1:
        traffic.backward.beside = once;
        traffic.optimizer.alone = once;
        break;
    case Parallel::Fsdp:
    case Parallel::Tp:
    case Parallel::FsdpTp:
        // With one row nothing is gathered, with one column nothing summed.
        addShardedWeights(spec, traffic);
        addTensorParts(spec, traffic);
        break;
    }
    if (spec.mode == Mode::Forward)
        traffic.backward = {};
    return traffic;
}

std::optional<int> communicationBoundFrom(const ExperimentSpec& spec, double computeSeconds, double link,
                                          int most)
{
    if (!(link > 0) || !(computeSeconds > 0) || spec.parallel == Parallel::None)
        return {};
    const RankGrid grid = gridOf(spec);
    const double whole = computeSeconds * grid.ranks();
    const auto isBound = [&](int n) {
        ExperimentSpec other = spec;
        other.gpus = n;
        const StepTraffic traffic = trafficOf(other);
        // The activations of a rank shrink with the number of rows among which the batch is divided.
        const bool sumsActivations = spec.parallel == Parallel::Tp || spec.parallel == Parallel::FsdpTp;
        const double shrink = sumsActivations ? static_cast<double>(grid.data) / gridOf(other).data : 1.0;
        const double alone = traffic.forward.alone + traffic.backward.alone + traffic.optimizer.alone;
        return (traffic.sum() - alone + shrink * alone) / link > whole / n;
    };
    // Traffic grows with n and computation falls, so the first power of two bounds the search.
    const bool isGrid = spec.parallel == Parallel::FsdpTp;
    int upper = isGrid ? 4 : 2;
    while (upper <= most && !isBound(upper))
        upper *= 2;
    if (isGrid)
        return upper <= most ? std::optional(upper) : std::nullopt;
    int lower = upper / 2;
    while (upper - lower > 1) {
        const int middle = lower + (upper - lower) / 2;
        (isBound(middle) ? upper : lower) = middle;
    }
    return upper <= most ? std::optional(upper) : std::nullopt;
}

} // namespace tilescope::predict
