#include "core/predict/sdpa_kernels.h"

#include "core/model/attention_backend.h"
#include "core/predict/fused_kernels.h"

#include <algorithm>
#include <cmath>

namespace tilescope::predict {

namespace {

/// A boolean mask converted to numbers that are added to the scores.
Storage maskOfNumbers(const SdpaCall& call, Ops& ops)
{
    return call.hasMask ? ops.temporary(call.shape.queries * call.shape.keys * bytesOf(call.shape.type),
                                        "mask, as numbers")
                        : Storage();
}

/// Gradients of k and v per query head, if heads share keys.
std::int64_t sharedHeadBytes(const TypedAttention& shape)
{
    if (shape.heads == shape.kvHeads)
        return 0;
    return shape.batch * shape.heads * shape.keys * shape.headDim * bytesOf(shape.type);
}

class CudnnKernel final : public SdpaKernel {
public:
    Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                 const Tensor& v) const override
    {
        const TypedAttention& shape = call.shape;
        const Storage mask = maskOfNumbers(call, ops);
        timeFused(ops, shape, FusedKernel::Cudnn, false);
        const Storage seed = ops.temporary(8, "random state");
        const Storage offset = ops.temporary(8, "random state");
        Tensor o = ops.make(shape.queryCount(), shape.type, "output");
        const Tensor logSumExp = shape.needsGrad && ops.recordsGraph()
                                     ? ops.make(shape.rows(), Type::Float32, "log-sum-exp")
                                     : Tensor();
        ops.temporary(kFlags, "workspace of the kernel");
        ops.record(o, {&q, &k, &v}, {&q, &k, &v, &o, &logSumExp},
                   [&ops, shape, mask, seed, offset, q, k, v, o, logSumExp](const Tensors&) {
                       timeFused(ops, shape, FusedKernel::Cudnn, true);
                       Tensors result = makeGradients(shape, ops);
                       ops.temporary((shape.queryCount() + shape.rows()) * kFloat +
                                         2 * sharedHeadBytes(shape) + kFlags,
                                     "workspace of the kernel");
                       return result;
                   });
        return o;
    }

private:
    static constexpr std::int64_t kFlags = 256;
};

// PyTorch's copy of FlashAttention-2. With few rows the keys are split and the parts combined.
class FlashKernel final : public SdpaKernel {
public:
    Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                 const Tensor& v) const override
    {
        const std::int64_t unit = 8;
        if (call.shape.headDim % unit == 0)
            return attend(call, ops, q, k, v);
        SdpaCall wider = call;
        wider.shape.headDim = roundedUp(call.shape.headDim, unit);
        const auto pad = [&](const Tensor& x, std::int64_t count) {
            Tensor copy = ops.make(count, x.type, "operand, padded");
            ops.record(copy, {&x}, {}, [&ops, narrow = x.count, type = x.type](const Tensors&) -> Tensors {
                return {ops.make(narrow, type, "gradient without padding")};
            });
            return copy;
        };
        const Tensor wideQ = pad(q, wider.shape.queryCount());
        const Tensor wideK = pad(k, wider.shape.keyCount());
        const Tensor wideV = pad(v, wider.shape.keyCount());
        const Tensor wideO = attend(wider, ops, wideQ, wideK, wideV);
        Tensor o = wideO; // a view without the padding
        o.count = call.shape.queryCount();
        ops.record(o, {&wideO}, {},
                   [&ops, count = wideO.count, type = wideO.type](const Tensors&) -> Tensors {
                       return {ops.make(count, type, "gradient of o, padded")};
                   });
        return o;
    }

private:
    static std::int64_t roundedHeadDim(std::int64_t headDim)
    {
        return roundedUp(headDim, headDim <= 128 ? 32 : 64);
    }

    static std::int64_t splits(const SdpaCall& call)
    {
        const TypedAttention& shape = call.shape;
        const std::int64_t tile = shape.headDim <= 64 ? 256 : shape.headDim <= 128 ? 128 : 64;
        const std::int64_t keyTiles = (shape.keys + tile - 1) / tile;
        const std::int64_t blocks = shape.batch * shape.heads * ((shape.queries + 63) / 64);
        return bestSplits(blocks, 2 * call.device.multiprocessors, keyTiles);
    }

    // num_splits_heuristic of FlashAttention: the fewest splits within 85 % of the best occupancy.
    static std::int64_t bestSplits(std::int64_t blocks, std::int64_t slots, std::int64_t keyTiles)
    {
        constexpr std::int64_t kMost = 128;
        constexpr double kFull = 0.8;
        constexpr double kGoodEnough = 0.85;
        if (static_cast<double>(blocks) >= kFull * static_cast<double>(slots))
            return 1;
        const std::int64_t most = std::min({kMost, slots, keyTiles});
        const auto perSplit = [&](std::int64_t n) { return (keyTiles + n - 1) / n; };
        const auto use = [&](std::int64_t n) {
            if (n > 1 && perSplit(n) == perSplit(n - 1))
                return 0.0;
            const double waves = static_cast<double>(blocks * n) / static_cast<double>(slots);
            return waves / std::ceil(waves);
        };
        double best = 0;
        for (std::int64_t n = 1; n <= most; ++n)
            best = std::max(best, use(n));
        for (std::int64_t n = 1; n <= most; ++n)
            if (use(n) >= kGoodEnough * best && use(n) > 0)
                return n;
        return 1;
    }

    static Tensor attend(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k, const Tensor& v)
    {
        const TypedAttention shape = call.shape;
        timeFused(ops, shape, FusedKernel::FlashAttention2, false);
        Tensor o = ops.make(shape.queryCount(), shape.type, "output");
        const Tensor logSumExp = ops.make(shape.rows(), Type::Float32, "log-sum-exp");
        Storage random;
        Storage unused;
        {
            Storage sums;
            Storage outputs;
            if (const std::int64_t n = splits(call); n > 1) {
                sums = ops.temporary(n * shape.rows() * kFloat, "log-sum-exp of splits");
                outputs = ops.temporary(n * shape.rows() * roundedHeadDim(shape.headDim) * kFloat,
                                        "outputs of splits");
            }
            random = ops.temporary(16, "random state");
            unused = ops.temporary(8, "random state");
        }
        ops.record(o, {&q, &k, &v}, {&q, &k, &v, &o, &logSumExp},
                   [&ops, shape, q, k, v, o, logSumExp, random, unused](const Tensors& g) {
                       return backward(ops, shape, g[0].isTransposed);
                   });
        return o;
    }

    static Tensors backward(Ops& ops, const TypedAttention& shape, bool isInOrder)
    {
        const std::int64_t bytes = shape.queryCount() * bytesOf(shape.type);
        timeFused(ops, shape, FusedKernel::FlashAttention2, true);
        // Moves heads behind rows; no copy for a single head.
        const Storage gradient =
            shape.heads > 1 && !isInOrder ? ops.temporary(bytes, "gradient of o, in order") : Storage();
        const Storage output = shape.heads > 1 ? ops.temporary(bytes, "o, in order") : Storage();
        Tensors result = makeGradients(shape, ops);
        const std::int64_t rows = shape.batch * shape.heads * roundedUp(shape.queries, 128);
        const Storage delta = ops.temporary(rows * kFloat, "delta");
        const Storage sum =
            ops.temporary(rows * roundedHeadDim(shape.headDim) * kFloat, "gradient of q, fp32");
        const Storage k = ops.temporary(sharedHeadBytes(shape), "gradient of k by query head");
        const Storage v = ops.temporary(sharedHeadBytes(shape), "gradient of v by query head");
        return result;
    }
};

class EfficientKernel final : public SdpaKernel {
public:
    Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                 const Tensor& v) const override
    {
        const TypedAttention& shape = call.shape;
        const Storage mask = maskOfNumbers(call, ops);
        timeFused(ops, shape, FusedKernel::Efficient, false);
        Tensor o = ops.make(shape.queryCount(), shape.type, "output");
        o.isTransposed = shape.heads > 1; // heads behind rows
        const Tensor logSumExp = shape.needsGrad && ops.recordsGraph()
                                     ? ops.make(shape.batch * shape.heads * roundedUp(shape.queries, 32),
                                                Type::Float32, "log-sum-exp")
                                     : Tensor();
        ops.record(o, {&q, &k, &v}, {&q, &k, &v, &o, &logSumExp},
                   [&ops, shape, mask, q, k, v, o, logSumExp](const Tensors& g) {
                       return backward(ops, shape, g[0].isTransposed);
                   });
        return o;
    }

private:
    static Tensors backward(Ops& ops, const TypedAttention& shape, bool isInOrder)
    {
        timeFused(ops, shape, FusedKernel::Efficient, true);
        const bool moves = shape.heads > 1 && !isInOrder;
        const Storage gradient =
            moves ? ops.temporary(shape.queryCount() * bytesOf(shape.type), "gradient of o, in order")
                  : Storage();
        Tensors result = makeGradients(shape, ops);
        for (Tensor& each : result)
            each.isTransposed = shape.heads > 1;
        const Storage delta = deltaOf(ops, shape);
        const std::int64_t columns = shape.headDim <= 64 ? 64 : roundedUp(shape.headDim, 128);
        const std::int64_t rows = shape.batch * shape.heads * roundedUp(shape.queries, 64);
        ops.temporary(rows * columns * kFloat + rows / 4, "workspace of the kernel");
        return result;
    }

    static Storage deltaOf(Ops& ops, const TypedAttention& shape)
    {
        if (shape.type != Type::Float32)
            return ops.temporary(shape.rows() * kFloat, "delta");
        const Storage product = ops.temporary(shape.queryCount() * kFloat, "o times its gradient");
        const Storage sums = ops.temporary(shape.rows() * kFloat, "row sums of it");
        return ops.temporary(shape.rows() * kFloat, "delta");
    }
};

// The CPU kernel: per thread, tiles of scores in fp32 and a second copy in half precision. Supports shared
// heads and masks directly.
class CpuFlashKernel final : public SdpaKernel {
public:
    Tensor apply(const SdpaCall& call, Ops& ops, const Tensor& q, const Tensor& k,
                 const Tensor& v) const override
    {
        const TypedAttention& shape = call.shape;
        const std::int64_t threads = call.device.threads;
        const Storage mask =
            call.hasMask ? ops.maskOfNumbers(shape.queries * shape.keys, shape.type) : Storage();
        timeFused(ops, shape, FusedKernel::Processor, false);
        Tensor o = ops.make(shape.queryCount(), shape.type, "output");
        const Tensor logSumExp = ops.make(shape.rows(), Type::Float32, "log-sum-exp");
        {
            const std::int64_t rows = queryTile(shape);
            const Storage scores = ops.temporary(
                threads * rows * (keyTile(shape) + 2 + shape.headDim) * kFloat, "tiles of each thread");
            const bool isPacked = packs(call);
            const std::int64_t keys = isPacked ? roundedUp(keyTile(shape), kPaired) : keyTile(shape);
            const Storage halves = narrowTiles(ops, threads * rows * keys, shape);
            const Storage packed =
                isPacked ? ops.temporary(packedBytes(call), "packed keys and values") : Storage();
        }
        ops.record(o, {&q, &k, &v}, {&q, &k, &v, &o, &logSumExp},
                   [&ops, shape, device = call.device, mask, q, k, v, o, logSumExp](const Tensors& g) {
                       return backward(ops, shape, device, g[0].isTransposed);
                   });
        return o;
    }

private:
    /// Whether keys and values are first copied into the layout of AMX's tiles: if there is enough work with each.
    static bool packs(const SdpaCall& call)
    {
        const TypedAttention& shape = call.shape;
        const CpuInstructionSet set = call.device.instructionSet;
        const bool isBf16 = shape.type == Type::BFloat16 && set >= CpuInstructionSet::Amx;
        if (!isBf16 && !(shape.type == Type::Float16 && set >= CpuInstructionSet::AmxFp16))
            return false;
        const std::int64_t least = isBf16 ? 64 : 16;
        if (shape.queries < least || shape.keys < least)
            return false;
        const std::int64_t tiles = shape.batch * shape.heads * divideUp(shape.queries, queryTile(shape));
        const std::int64_t seen =
            shape.causal && !call.hasMask ? std::min(shape.queries, shape.keys) : shape.keys;
        const std::int64_t work = divideUp(tiles, call.device.threads) * queryTile(shape) * seen;
        return work >= (isBf16 ? 4 : 1) * shape.batch * shape.kvHeads * shape.keys;
    }

    /// The copies, and what each thread needs to make them; an odd head dim is padded.
    static std::int64_t packedBytes(const SdpaCall& call)
    {
        const TypedAttention& shape = call.shape;
        const std::int64_t heads = shape.batch * shape.kvHeads;
        const std::int64_t width = roundedUp(shape.headDim, kPaired);
        const std::int64_t tile = keyTile(shape);
        const std::int64_t rest = (shape.keys - 1) % tile + 1;
        const std::int64_t rows =
            (shape.keys - 1) / tile * roundedUp(tile, kPaired) + roundedUp(rest, kPaired);
        const std::int64_t queries = width == shape.headDim ? 0 : queryTile(shape) * width;
        return bytesOf(shape.type) * (heads * (width * shape.keys + rows * shape.headDim) +
                                      call.device.threads * (queries + shape.headDim * tile));
    }

    static std::int64_t queryTile(const TypedAttention& shape)
    {
        return shape.queries >= 768   ? 256
               : shape.queries >= 192 ? 64
                                      : std::min<std::int64_t>(32, shape.queries);
    }
    static std::int64_t keyTile(const TypedAttention& shape)
    {
        return std::min<std::int64_t>(512, shape.keys);
    }
    static Storage narrowTiles(Ops& ops, std::int64_t count, const TypedAttention& shape)
    {
        return shape.type == Type::Float32 ? Storage()
                                           : ops.temporary(count * bytesOf(shape.type), "tiles, narrowed");
    }

    static Tensors backward(Ops& ops, const TypedAttention& shape, const TargetDevice& device, bool isInOrder)
    {
        const std::int64_t threads = device.threads;
        timeFused(ops, shape, FusedKernel::Processor, true);
        // The kernel writes (batch, rows, heads, head dim). The layout differs only with several heads and
        // several rows.
        const auto isReordered = [&](std::int64_t rows) { return shape.heads > 1 && rows > 1; };
        const Storage gradient =
            isReordered(shape.queries) && !isInOrder
                ? ops.temporary(shape.queryCount() * bytesOf(shape.type), "gradient of o, in order")
                : Storage();
        Tensors result = makeGradients(shape, ops);
        result[0].isTransposed = isReordered(shape.queries);
        result[1].isTransposed = result[2].isTransposed = shape.kvHeads > 1 && shape.keys > 1;
        const std::int64_t tiles = 2 * threads * queryTile(shape) * keyTile(shape);
        const Storage scores = ops.temporary(tiles * kFloat, "tiles of each thread");
        const Storage halves = narrowTiles(ops, tiles, shape);
        // Each thread processes whole heads, and sums the rows of its tiles and multiplies them in memory of its own.
        const std::int64_t busyThreads =
            device.threadsMeet ? std::min(threads, shape.batch * shape.kvHeads) : 1;
        const Storage sums = ops.temporary(busyThreads * queryTile(shape) * kFloat, "row sums of tiles");
        ops.temporary(busyThreads * scratchOfTile(ops, shape), "scratch memory of oneDNN");
        return result;
    }

    /// The products whose results are in half precision: the gradients of q, k and v.
    static std::int64_t scratchOfTile(const Ops& ops, const TypedAttention& shape)
    {
        std::int64_t most = 0;
        for (const std::int64_t rows : {queryTile(shape), shape.queries % queryTile(shape)})
            for (const std::int64_t keys : {keyTile(shape), shape.keys % keyTile(shape)}) {
                if (rows == 0 || keys == 0)
                    continue;
                most = std::max({most, ops.scratchOf(shape.type, 1, rows, shape.headDim, keys),
                                 ops.scratchOf(shape.type, 1, keys, shape.headDim, rows, true)});
            }
        constexpr std::int64_t kScale = sizeof(float);
        return most == 0 ? 0 : most + kScale;
    }
};

const CudnnKernel kCudnn;
const FlashKernel kFlash;
const EfficientKernel kEfficient;
const CpuFlashKernel kCpuFlash;

/// PyTorch's default choice: cuDNN on Hopper or newer, then flash, then efficient, then math.
const SdpaKernel* chosen(const TypedAttention& shape, bool hasMask, const TargetDevice& device)
{
    if (!device.isCuda)
        return &kCpuFlash;
    const auto takes = [&](Backend backend) {
        return takesOnCuda(traitsOf(backend), shape.headDim, shape.type != Type::Float32,
                           shape.heads != shape.kvHeads, hasMask);
    };
    if (takes(Backend::SdpaCudnn) && device.computeMajor >= 9 && shape.headDim <= 128)
        return &kCudnn;
    if (takes(Backend::SdpaFlash) && device.computeMajor >= 8)
        return &kFlash;
    if (takes(Backend::SdpaEfficient))
        return &kEfficient;
    return &sdpaMath();
}

} // namespace

const SdpaKernel* sdpaKernel(Backend backend, const TypedAttention& shape, bool hasMask,
                             const TargetDevice& device)
{
    const std::optional<TorchKernel> forced = traitsOf(backend).torchKernel;
    if (forced == TorchKernel::Math)
        return &sdpaMath();
    if (!device.isCuda || !forced)
        return chosen(shape, hasMask, device);
    switch (*forced) {
    case TorchKernel::Flash:
        return &kFlash;
    case TorchKernel::Efficient:
        return &kEfficient;
    case TorchKernel::Cudnn:
    case TorchKernel::Math:
        break;
    }
    return &kCudnn;
}

} // namespace tilescope::predict
