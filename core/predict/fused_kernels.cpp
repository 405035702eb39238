#include "core/predict/fused_kernels.h"

#include "core/model/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tilescope::predict {

namespace {

struct Entry {
    FusedFigures forward, backward;
};

// Columns: tile; resident blocks per multiprocessor, share of its rate that one block reaches, whether the
// longest blocks start first; share of the matrix-product rate at head dims 32, 64 and 128; overhead of a
// block and of the kernel. Fitted to tests/bench/results/attention-h200.json: single kernels on an otherwise
// idle H200.
constexpr double kMicro = 1e-6;

/// In the order of FusedKernel.
constexpr std::array kKernelNames{"flash", "fp8", "cudnn", "flash2", "efficient", "processor"};

/// With wgmma, or with mma.sync for few keys or queries and large head dims
/// (kernels/cuda/hopper/common/tf32.h).
Entry tf32Figures(const TypedAttention& shape)
{
    if (shape.keys > 512 && shape.queries > 64 && shape.headDim <= 128)
        return {{128, {1, 1, true}, 0.57, 0.84, 0.9, 3.6 * kMicro, 5.6 * kMicro},
                {shape.headDim <= 64 ? 128 : 64, {1, 1, true}, 0.6, 0.87, 0.8, 15 * kMicro, 1 * kMicro}};
    return {{128, {3, 0.67, false}, 0.41, 0.5, 0.41, 2.8 * kMicro, 4.9 * kMicro},
            {128, {1, 1, true}, 0.18, 0.26, 0.28, 5 * kMicro, 8.9 * kMicro}};
}

Entry flashFigures(const TypedAttention& shape)
{
    if (shape.type != Type::Float32)
        return {{128, {2, 1, true}, 0.53, 0.96, 1.23, 2 * kMicro, 8 * kMicro},
                {128, {1, 1, true}, 0.49, 0.81, 0.93, 6.4 * kMicro, 4.5 * kMicro}};
    if (shape.allowTf32)
        return tf32Figures(shape);
    return {{64, {1, 1, true}, 0.92, 1.09, 1.08, 3.6 * kMicro, 2.9 * kMicro},
            {64, {2, 0.85, true}, 0.89, 0.99, 0.99, 14 * kMicro, 6.6 * kMicro}};
}

Entry figuresOf(FusedKernel kernel, const TypedAttention& shape)
{
    const bool isHalf = shape.type != Type::Float32;
    switch (kernel) {
    case FusedKernel::Flash:
        return flashFigures(shape);
    case FusedKernel::FlashFp8:
        // Forward alone, without the kernel that rounds the inputs: 1.1 and 1.3 times the rate of flash at head dims 64
        // and 128 (tests/bench/results/attention-fp8-h100.json).
        return {{128, {2, 1, true}, 0.58, 1.06, 1.6, 2 * kMicro, 8 * kMicro}, {}};
    case FusedKernel::Cudnn:
        return {{128, {2, 0.92, false}, 0.42, 0.81, 1.1, 2.4 * kMicro, 5.5 * kMicro},
                {128, {1, 1, true}, 0.37, 0.7, 0.92, 14 * kMicro, 4.6 * kMicro}};
    case FusedKernel::FlashAttention2:
        return {{128, {2, 0.77, false}, 0.35, 0.47, 0.54, 2.2 * kMicro, 10 * kMicro},
                {128, {1, 1, false}, 0.26, 0.38, 0.42, 10 * kMicro, 10 * kMicro}};
    case FusedKernel::Efficient:
        if (isHalf)
            return {{64, {1, 1, false}, 0.1, 0.14, 0.2, 2 * kMicro, 5 * kMicro},
                    {64, {1, 1, false}, 0.09, 0.13, 0.17, 2 * kMicro, 10 * kMicro}};
        // Larger head dims use other tiles.
        if (shape.headDim > 64)
            return {{64, {1, 1, false}, 0.42, 0.74, 0.9, 4.5 * kMicro, 2.6 * kMicro},
                    {64, {1, 1, false}, 0.43, 0.7, 0.74, 10 * kMicro, 16 * kMicro}};
        return {{64, {3, 0.52, false}, 0.42, 0.74, 0.9, 4.2 * kMicro, 2.5 * kMicro},
                {64, {3, 0.62, false}, 0.43, 0.77, 0.74, 3.6 * kMicro, 23 * kMicro}};
    case FusedKernel::Processor:
        return {{64, {1, 1, false}, 0.4, 0.5, 0.5, 0, 0}, {64, {1, 1, false}, 0.4, 0.5, 0.5, 0, 0}};
    }
    return {};
}

bool usesTf32(FusedKernel kernel, const TypedAttention& shape)
{
    return shape.allowTf32 && kernel == FusedKernel::Flash;
}

/// Host overhead of a call, in units of ordinary operations. Total on an H200's host: 12 us per call for
/// Tilescope's kernel, 18 for FlashAttention-2, 22 for cuDNN.
double preparation(FusedKernel kernel)
{
    switch (kernel) {
    case FusedKernel::FlashAttention2:
        return 0.5;
    case FusedKernel::Cudnn:
        return 0.75;
    default:
        return 0;
    }
}

double products(bool isBackward)
{
    return isBackward ? 5 : 2;
}

/// Forward: keys visible to a tile of queries. Backward: queries that see a tile of keys. Tiles are in order
/// of increasing visible part.
double visibleTo(const TypedAttention& shape, std::int64_t tile, std::int64_t rows, bool isBackward)
{
    const auto across = static_cast<double>(isBackward ? shape.queries : shape.keys);
    if (!shape.causal)
        return across;
    // Forward, the last rows see all keys. Backward, the order is reversed: the first keys are visible to all
    // queries.
    const double more = isBackward ? 0 : static_cast<double>(shape.keys - shape.queries);
    return std::clamp(static_cast<double>((tile + 1) * rows) + more, 0.0, across);
}

FusedFigures writtenFigures(FusedKernel kernel, const TypedAttention& shape, bool isBackward)
{
    const Entry entry = figuresOf(kernel, shape);
    return isBackward ? entry.backward : entry.forward;
}

FusedFigures atPace(FusedFigures figures, double pace)
{
    figures.at32 *= pace;
    figures.at64 *= pace;
    figures.at128 *= pace;
    return figures;
}

/// The pace at which the shape takes `seconds`. One part of its time is constant, the other is inversely
/// proportional to the pace; each round multiplies the error by the constant part's share of the time.
double paceAt(double seconds, const FusedFigures& written, const TypedAttention& shape, bool isBackward,
              const DeviceRates& rates)
{
    constexpr int kRounds = 12;
    double pace = 1;
    for (int round = 0; round < kRounds; ++round)
        pace = std::clamp(pace * fusedSeconds(atPace(written, pace), shape, isBackward, rates) / seconds, 0.1,
                          10.0);
    return pace;
}

} // namespace

double FusedFigures::share(std::int64_t headDim) const
{
    const auto d = static_cast<double>(headDim);
    if (d <= 32)
        return at32 * d / 32;
    if (d <= 64)
        return at32 + (at64 - at32) * (d - 32) / 32;
    return at64 + (at128 - at64) * (std::min(d, 128.0) - 64) / 64;
}

std::string ceilingKind(FusedKernel kernel, const TypedAttention& shape, bool isBackward)
{
    std::string precision = shape.allowTf32 ? "tf32" : "fp32";
    if (shape.type != Type::Float32)
        precision = shape.type == Type::BFloat16 ? "bf16" : "fp16";
    return std::string("attention_") + kKernelNames[static_cast<std::size_t>(kernel)] + '_' + precision +
           (isBackward ? "_backward" : "_forward");
}

std::map<std::string, double> attentionPaces(const std::map<std::string, double>& measured,
                                             const DeviceRates& rates)
{
    const CalibrationAttention calibration = calibrationAttention(rates.isCuda);
    TypedAttention shape;
    shape.batch = calibration.batch;
    shape.heads = shape.kvHeads = calibration.heads;
    shape.queries = shape.keys = calibration.length;
    shape.headDim = calibration.headDim;
    std::map<std::string, double> paces;
    const auto add = [&](FusedKernel kernel, bool isBackward) {
        const std::string kind = ceilingKind(kernel, shape, isBackward);
        const auto found = measured.find(kind);
        if (found == measured.end() || !(found->second > 0) || rates.flops(shape.type, shape.allowTf32) <= 0)
            return;
        const double seconds =
            shape.visiblePairs() * products(isBackward) * 2 * calibration.headDim / found->second;
        paces[kind] = paceAt(seconds, writtenFigures(kernel, shape, isBackward), shape, isBackward, rates);
    };
    struct Precision {
        Type type;
        bool isTf32;
    };
    for (const auto [type, isTf32] : {Precision{Type::Float32, false}, Precision{Type::Float32, true},
                                      Precision{Type::BFloat16, false}, Precision{Type::Float16, false}}) {
        shape.type = type;
        shape.allowTf32 = isTf32;
        for (std::size_t kernel = 0; kernel < kKernelNames.size(); ++kernel)
            for (const bool isBackward : {false, true})
                add(static_cast<FusedKernel>(kernel), isBackward);
    }
    return paces;
}

FusedFigures fusedFigures(FusedKernel kernel, const TypedAttention& shape, bool isBackward,
                          const DeviceRates& rates)
{
    const FusedFigures figures = writtenFigures(kernel, shape, isBackward);
    const auto pace = rates.attentionPace.find(ceilingKind(kernel, shape, isBackward));
    return pace == rates.attentionPace.end() ? figures : atPace(figures, pace->second);
}

double fusedSeconds(const FusedFigures& figures, const TypedAttention& shape, bool isBackward,
                    const DeviceRates& rates)
{
    const double rate = rates.flops(shape.type, shape.allowTf32) * figures.share(shape.headDim);
    if (rate <= 0)
        return 0;
    const double flopsPerPair = products(isBackward) * 2 * static_cast<double>(shape.headDim);
    if (!rates.isCuda)
        return shape.visiblePairs() * flopsPerPair / rate;
    const std::int64_t rows = isBackward ? shape.keys : shape.queries;
    const std::int64_t tiles = (rows + figures.tile - 1) / figures.tile;
    BlockGrid grid{.heads = shape.batch * (isBackward ? shape.kvHeads : shape.heads)};
    const double perPair = flopsPerPair * rates.multiprocessors / rate;
    // A block processes the query heads that share its key head one after the other.
    const std::int64_t groups = isBackward ? shape.heads / shape.kvHeads : 1;
    for (std::int64_t tile = 0; tile < tiles; ++tile)
        grid.seconds.push_back(perPair * static_cast<double>(groups) * figures.tile *
                                   visibleTo(shape, tile, figures.tile, isBackward) +
                               figures.blockSeconds * figures.sharing.alone);
    return figures.startSeconds + scheduledSeconds(grid, figures.sharing, rates.multiprocessors);
}

void timeFused(Ops& ops, const TypedAttention& given, FusedKernel kernel, bool isBackward)
{
    if (ops.log() == nullptr)
        return;
    TypedAttention shape = given;
    shape.allowTf32 = usesTf32(kernel, shape);
    const DeviceRates& rates = ops.log()->rates();
    const double seconds =
        fusedSeconds(fusedFigures(kernel, shape, isBackward, rates), shape, isBackward, rates);
    const auto element = static_cast<double>(bytesOf(shape.type));
    const auto q = static_cast<double>(shape.queryCount());
    const auto k = static_cast<double>(shape.keyCount());
    ops.log()->prepare(preparation(kernel));
    ops.log()->fused(seconds, (isBackward ? 5 * q + 4 * k : 2 * q + 2 * k) * element);
}

} // namespace tilescope::predict
