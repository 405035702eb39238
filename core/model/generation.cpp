#include "core/model/generation.h"

#include "core/model/language_model.h"

namespace tilescope {

namespace {

std::int64_t activationBytes(const ExperimentSpec& spec)
{
    return spec.precision == Precision::Fp32 ? 4 : 2;
}

/// Of keys and values of one position, in all layers and sequences.
std::int64_t bytesOfPosition(const ExperimentSpec& spec)
{
    return 2 * spec.layers * spec.batch * keyWidth(spec) * activationBytes(spec);
}

std::int64_t mapBytes(const ExperimentSpec& spec, const LinearMap& map)
{
    constexpr std::int64_t kScaleBytes = 4;
    if (spec.weights == WeightFormat::Fp8)
        return map.in * map.out + map.out * kScaleBytes;
    return map.in * map.out * activationBytes(spec);
}

} // namespace

std::int64_t cachedTokens(const ExperimentSpec& spec)
{
    return spec.context + spec.newTokens - 1;
}

std::int64_t pagesOfSequence(const ExperimentSpec& spec)
{
    return (cachedTokens(spec) + spec.page - 1) / spec.page;
}

Bytes cacheBytes(const ExperimentSpec& spec)
{
    const bool isPaged = spec.cache == CacheKind::Paged;
    return Bytes{bytesOfPosition(spec) * (isPaged ? pagesOfSequence(spec) * spec.page : cachedTokens(spec))};
}

Bytes decodedWeightBytes(const ExperimentSpec& spec)
{
    std::int64_t maps = mapBytes(spec, headMap(spec));
    for (const LinearMap& map : blockMaps(spec))
        maps += spec.layers * mapBytes(spec, map);
    const std::int64_t rows = 2 * spec.layers + 1 + spec.batch; // norms, and the embedding of each token
    return Bytes{maps + rows * spec.dModel * activationBytes(spec)};
}

Bytes decodedBytes(const ExperimentSpec& spec, std::int64_t position)
{
    return Bytes{decodedWeightBytes(spec).count + (position + 1) * bytesOfPosition(spec)};
}

double meanDecodedBytes(const ExperimentSpec& spec)
{
    if (spec.newTokens < 2)
        return 0;
    // Positions grow by one per step.
    const auto first = static_cast<double>(decodedBytes(spec, spec.context).count);
    const auto last = static_cast<double>(decodedBytes(spec, cachedTokens(spec) - 1).count);
    return (first + last) / 2;
}

} // namespace tilescope
