#include "kernels/cuda/decode/decode.h"

#include "kernels/cuda/common/device.h"
#include "kernels/cuda/decode/counters.h"
#include "kernels/cuda/decode/parameters.h"

#include <algorithm>

namespace tilescope::kernels {

namespace {

constexpr std::int64_t kMostQueries = 16;

#ifdef TILESCOPE_SMALL_KERNEL_SET
constexpr const DecodeLaunchers* kFp16 = nullptr;
constexpr bool kHasWide = false;
#else
constexpr const DecodeLaunchers* kFp16 = &kDecodeFp16;
constexpr bool kHasWide = true;
#endif

/// Null for other types.
const DecodeLaunchers* launchersOf(ElementType type)
{
    if (type == ElementType::BFloat16) {
        return &kDecodeBf16;
    }
    return type == ElementType::Float16 ? kFp16 : nullptr;
}

std::int64_t rowsOf(const AttentionShape& shape)
{
    return shape.queries * (shape.queryHeads / shape.keyHeads);
}

std::size_t headDimIndex(int headDim)
{
    return headDim <= kDecodeHeadDims[0] ? 0 : 1;
}

/// Wide CTAs read long keys faster, because tiles are longer pieces of memory, and split few items into fewer
/// parts. But a wide CTA reads nothing during the end of an item, which with short keys costs more than it
/// gains.
DecodeCtas ctasOf(const AttentionShape& shape)
{
    constexpr std::int64_t kLongKeys = 16'384;
    const DeviceProperties& device = currentDeviceProperties();
    const bool fits =
        kHasWide && rowsOf(shape) <= kMostWideRows && device.sharedMemoryBytes >= kSharedBytesOfHopper;
    const bool gains = shape.keys >= kLongKeys || 4 * shape.batch * shape.keyHeads <= device.multiprocessors;
    return fits && gains ? DecodeCtas::OneWide : DecodeCtas::Two;
}

KeySplit splitOf(const AttentionShape& shape)
{
    const DecodeCtas layout = ctasOf(shape);
    const int ctas = std::clamp(
        currentDeviceProperties().multiprocessors * (layout == DecodeCtas::Two ? 2 : 1), 1, kMostDecodeCtas);
    // A part takes 8 bytes to write and read for each row and column, a key and its value 4 bytes for each column. With
    // this many keys the parts are a quarter of all memory traffic.
    const auto leastKeys = static_cast<int>(8 * rowsOf(shape));
    const int tileKeys = decodeTileKeys(kDecodeHeadDims[headDimIndex(shape.headDim)], layout);
    return KeySplit::make(shape.batch * shape.keyHeads,
                          static_cast<int>((shape.keys + tileKeys - 1) / tileKeys), ctas,
                          std::max(1, leastKeys / tileKeys));
}

} // namespace

bool decodeSupports(const AttentionProblem& problem)
{
    const AttentionShape& shape = problem.shape;
    return launchersOf(problem.type) && shape.headDim <= kDecodeHeadDims[1] &&
           shape.queries <= kMostQueries && rowsOf(shape) <= kMostDecodeRows && shape.keys < (1 << 30);
}

std::size_t decodeWorkspaceBytes(const AttentionProblem& problem)
{
    const KeySplit split = splitOf(problem.shape);
    if (!split.splitsItems()) {
        return 0;
    }
    const int floatsPerRow = decodePartFloats(kDecodeHeadDims[headDimIndex(problem.shape.headDim)]);
    return static_cast<std::size_t>(split.ctas * KeySplit::kPartsPerCta * rowsOf(problem.shape) *
                                    floatsPerRow) *
           sizeof(float);
}

cudaError_t decode(const AttentionProblem& problem, const ForwardTensors& tensors, cudaStream_t stream,
                   const PagedKeys& paged, PreferredDecode preferred)
{
    const AttentionShape& shape = problem.shape;
    const DecodeParameters parameters{.shape = kernelShape(problem),
                                      .q = tensors.q,
                                      .k = tensors.k,
                                      .v = tensors.v,
                                      .o = tensors.o,
                                      .logSumExp = static_cast<float*>(tensors.logSumExp),
                                      .workspace = static_cast<float*>(tensors.workspace),
                                      .finishedParts = nextDecodeCounters(),
                                      .split = splitOf(shape),
                                      .paged = paged,
                                      .ctas = ctasOf(shape)};
    if (preferred) {
        if (const cudaError_t status = preferred(parameters, problem.type, stream);
            status != cudaErrorNotSupported) {
            return status;
        }
    }
    return (*launchersOf(problem.type))[headDimIndex(shape.headDim)](parameters, stream);
}

} // namespace tilescope::kernels
