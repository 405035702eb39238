#include "core/predict/onednn_matmul.h"

#include "core/predict/fused_kernels.h"
#include "core/predict/onednn_tiles.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace tilescope::predict {

namespace {

/// gemm_bf16_matmul, which multiplies bf16 on processors without instructions for it: sums in fp32.
std::int64_t gemmScratch(const CpuProduct& product, std::int64_t threads)
{
    const std::int64_t values = product.rows * product.columns;
    const auto valuesOfThread = [&](std::int64_t among) {
        const std::int64_t share = divideUp(product.batch * values, among);
        const std::int64_t whole = share - share % product.columns;
        return roundedUp(share >= product.columns ? std::min(values, whole) : share, 64);
    };
    return kFloat * std::max(valuesOfThread(1), threads * valuesOfThread(threads)) + kBufferAlignment;
}

/// How oneDNN computes a product: brgemm_matmul_conf_t.
struct Blocking {
    std::int64_t rows = 1;        ///< of a block of C
    std::int64_t columns = 1;     ///< of a block of C
    std::int64_t inner = 1;       ///< of a block of A and B
    std::int64_t columnGroup = 1; ///< blocks of columns that a thread computes one after the other
    std::int64_t innerThreads = 1;
};

/// brgemm_matmul of processors with AVX-512 but without tiles (compute_blocking_heuristic_avx512).
class Avx512Product {
public:
    /// \param elementBytes  of the copies of A and B: fp16 is computed in fp32
    Avx512Product(const CpuProduct& product, std::int64_t threads, std::int64_t elementBytes)
        : product_(product), threads_(threads), elementBytes_(elementBytes),
          copiesFirst_(product.isFirstTransposed || elementBytes != bytesOf(product.type) ||
                       hasLongPowerOf2())
    {
    }

    std::int64_t scratch() const
    {
        const Blocking blocking = bestBlocking();
        constexpr std::int64_t kBatchElement = 16 * 40; // pointers to the blocks of a thread
        const std::int64_t line = 64 / elementBytes_;
        std::int64_t lengthOfRow = roundedUp(blocking.inner, line);
        if (lengthOfRow >= 512 && isPowerOf2(lengthOfRow))
            lengthOfRow += line;
        const std::int64_t first = copiesFirst_ ? elementBytes_ * blocking.rows * lengthOfRow : 0;
        const std::int64_t second = elementBytes_ * kColumns * roundedUp(blocking.inner, line);
        const bool sumsThreads = blocking.innerThreads > 1;
        const std::int64_t groups = blocking.inner >= product_.inner ? 1 : blocking.columnGroup;
        const std::int64_t result = sumsThreads ? kFloat * product_.columns * product_.rows
                                                : kFloat * blocking.columns * blocking.rows * groups;
        return booked(kBatchElement) + booked(first) + booked(second) + booked(result);
    }

private:
    static constexpr std::int64_t kColumns = 64;

    std::int64_t booked(std::int64_t bytesOfThread) const
    {
        return bytesOfThread == 0 ? 0 : threads_ * bytesOfThread + kBufferAlignment;
    }

    /// Rows of A whose addresses collide in the cache are copied.
    bool hasLongPowerOf2() const
    {
        constexpr std::int64_t kLong = 8192;
        return product_.type == Type::BFloat16 && !product_.isFirstTransposed && isPowerOf2(product_.inner) &&
               product_.inner >= kLong / bytesOf(product_.type) && product_.rows >= 1024;
    }

    Blocking bestBlocking() const
    {
        const auto& [type, batch, rows, columns, inner, isFirstTransposed] = product_;
        Blocking now;
        now.columns = std::min(kColumns, columns);
        now.inner = std::min<std::int64_t>(inner, inner > 1024 && !isFirstTransposed ? 1024 : 512);
        const std::int64_t columnBlocks = divideUp(columns, now.columns);
        const bool hasFewTasks = threads_ > batch * columnBlocks;
        const std::int64_t most = std::min<std::int64_t>(256, rows);
        const std::int64_t least = std::min<std::int64_t>(hasFewTasks ? 16 : 32, rows);
        const bool splitsInner = hasFewTasks && batch == 1 && isFirstTransposed && inner >= 2048 &&
                                 (type != Type::BFloat16 || isPowerOf2(inner));
        const std::int64_t firstThreads = splitsInner ? std::min<std::int64_t>(threads_, 4) : 1;
        Blocking best;
        float bestImbalance = 1;
        const auto tryBlocking = [&] {
            const float imbalance = imbalanceOf(now);
            if (imbalance >= bestImbalance)
                return false;
            bestImbalance = imbalance;
            best = now;
            return true;
        };
        for (now.innerThreads = firstThreads; now.innerThreads >= 1; --now.innerThreads) {
            bool found = false;
            for (now.columnGroup = std::min<std::int64_t>(copiesFirst_ ? 16 : 1, columnBlocks);
                 now.columnGroup >= 1; --now.columnGroup)
                for (now.rows = most; now.rows >= least; --now.rows)
                    if (!isUneven(now, firstThreads) && tryBlocking())
                        found = true;
            if (found)
                continue;
            now.columnGroup = 1;
            now.rows = least;
            tryBlocking();
        }
        return best;
    }

    bool isUneven(const Blocking& blocking, std::int64_t firstThreads) const
    {
        const std::int64_t tasks = product_.batch * divideUp(product_.rows, blocking.rows) *
                                   divideUp(product_.columns, blocking.columns * blocking.columnGroup);
        const std::int64_t threads = threads_ / blocking.innerThreads;
        return tasks < threads * 3 && tasks % threads != 0 && firstThreads == 1;
    }

    static float imbalanceOf(std::int64_t work, std::int64_t block)
    {
        const std::int64_t rest = work % block;
        const std::int64_t missing = work < block ? block - rest : std::min(block - rest, rest);
        return static_cast<float>(missing) / static_cast<float>(block);
    }

    // matmul_avx512_blocking_params_t::get_imbalance(), with its arithmetic in fp32.
    float imbalanceOf(const Blocking& blocking) const
    {
        const std::int64_t threads = threads_ / blocking.innerThreads;
        const std::int64_t tasks = divideUp(product_.rows, blocking.rows) *
                                   divideUp(product_.columns, blocking.columns * blocking.columnGroup) *
                                   product_.batch;
        const std::int64_t excess = roundedUp(product_.rows, blocking.rows) % product_.rows;
        const float ofRows = static_cast<float>(excess) / static_cast<float>(product_.rows);
        const std::int64_t blocks = divideUp(product_.columns, blocking.columns);
        const std::int64_t groups = divideUp(blocks, blocking.columnGroup);
        const float ofColumns = (static_cast<float>(groups) * static_cast<float>(blocking.columnGroup) -
                                 static_cast<float>(blocks)) /
                                static_cast<float>(blocks);
        const float ofInner = imbalanceOf(product_.inner, blocking.innerThreads * blocking.inner);
        const std::int64_t idle = threads_ - threads * blocking.innerThreads;
        const float ofThreads = idle != 0 ? static_cast<float>(idle) / static_cast<float>(threads_) : 0;
        return (imbalanceOf(tasks, threads) + ofRows + ofColumns + ofThreads + ofInner) / 5;
    }

    const CpuProduct product_;
    const std::int64_t threads_;
    const std::int64_t elementBytes_;
    const bool copiesFirst_;
};

/// How oneDNN computes products in half precision on a processor.
enum class Method : std::uint8_t { Tiles, HalfPrecision, InFloat };

std::int64_t scratchBy(Method method, const CpuProduct& product, std::int64_t threads)
{
    if (method == Method::Tiles)
        if (const auto scratch = tileProductScratch(product, threads))
            return *scratch;
    return Avx512Product(product, threads, method == Method::InFloat ? kFloat : bytesOf(product.type))
        .scratch();
}

/// The scratch memory of a product. Layers and steps repeat their products, and choosing a blocking takes thousands of
/// divisions.
std::int64_t scratchOf(Method method, const CpuProduct& product, std::int64_t threads)
{
    using Key = std::tuple<CpuProduct, std::int64_t, Method>;
    constexpr std::size_t kMostKept = 4096;
    thread_local std::map<Key, std::int64_t> known;
    const Key key{product, threads, method};
    const auto found = known.find(key);
    if (found != known.end())
        return found->second;
    if (known.size() >= kMostKept)
        known.clear();
    return known[key] = scratchBy(method, product, threads);
}

} // namespace

std::int64_t productScratch(const CpuProduct& product, const TargetDevice& device)
{
    // LibTorch computes smaller products itself.
    constexpr std::int64_t kSmall = std::int64_t{16} * 16 * 16;
    const CpuInstructionSet set = device.instructionSet;
    if (device.isCuda || set < CpuInstructionSet::Avx512 ||
        product.batch * product.rows * product.columns * product.inner <= kSmall)
        return 0;
    const std::int64_t threads = device.threads;
    if (product.type == Type::BFloat16 && set == CpuInstructionSet::Avx512)
        return gemmScratch(product, threads);
    if (product.type == Type::BFloat16 && set >= CpuInstructionSet::Avx512Bf16)
        return scratchOf(set >= CpuInstructionSet::Amx ? Method::Tiles : Method::HalfPrecision, product,
                         threads);
    // With AVX512_FP16, oneDNN computes copies in fp32.
    if (product.type == Type::Float16 && set >= CpuInstructionSet::Avx512Fp16)
        return scratchOf(set >= CpuInstructionSet::AmxFp16 ? Method::Tiles : Method::InFloat, product,
                         threads);
    return 0;
}

} // namespace tilescope::predict
