#include "core/predict/attention.h"

#include <algorithm>
#include <cmath>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kWide = 4; // bytes of fp32, in which sums are kept

// The flash-torch backend: scores exist for one wave of query rows and one tile of keys. All waves and tiles
// do the same with at most as much, so that the first two of each tell the peak.
class TiledAttention final : public AttentionMemory {
public:
    TiledAttention(const AttentionShape& shape, Ops& ops) : shape_(shape), ops_(ops)
    {
        const std::int64_t budget = ops.isCuda() ? std::int64_t{64} << 20 : std::int64_t{2} << 20;
        const std::int64_t rowBytes = heads() * shape.tileK * kWide;
        waveRows_ = std::max<std::int64_t>(1, budget / (rowBytes * shape.tileQ)) * shape.tileQ;
    }

    Tensor apply(const Tensor& q, const Tensor& k, const Tensor& v) override
    {
        Tensor logSumExp;
        Tensor o = forward(logSumExp);
        ops_.record(o, {&q, &k, &v}, {&q, &k, &v, &o, &logSumExp},
                    [this, q, k, v, o, logSumExp](const Tensors&) { return backward(); });
        return o;
    }

private:
    std::int64_t heads() const { return shape_.batch * shape_.heads; }
    bool isWide() const { return shape_.type == Type::Float32; }
    bool copiesTiles() const { return shape_.heads != shape_.kvHeads; }

    // A tile of k or v, with a copy for each query head that shares it.
    Storage tileForQueries(std::int64_t keys) const
    {
        return copiesTiles()
                   ? ops_.temporary(heads() * keys * shape_.headDim * bytesOf(shape_.type), "tile, expanded")
                   : Storage();
    }

    // Of factors that are not wide a GPU makes a wide product; a CPU widens them first.
    Storage product(std::int64_t count, std::int64_t first, std::int64_t second) const
    {
        ops_.useWorkspace();
        if (isWide() || ops_.isCuda())
            return ops_.temporary(count * kWide, "tile product");
        const Storage b = ops_.temporary(second * kWide, "factor, widened");
        const Storage a = ops_.temporary(first * kWide, "factor, widened");
        return ops_.temporary(count * kWide, "tile product");
    }

    // A product added to what is there: in place where nothing needs widening.
    void accumulate(std::int64_t count, std::int64_t wideFactor, std::int64_t other) const
    {
        ops_.useWorkspace();
        if (isWide())
            return;
        const Storage narrow = ops_.temporary(wideFactor * bytesOf(shape_.type), "tile, narrowed");
        product(count, wideFactor, other);
    }

    void hide(std::int64_t rows, std::int64_t begin, std::int64_t keys, std::int64_t firstKey) const
    {
        const std::int64_t offset = shape_.keys - shape_.queries;
        const std::int64_t crossed = std::min(begin + rows, firstKey + keys - 1 - offset) - begin;
        if (shape_.isCausal && crossed > 0)
            ops_.temporary(crossed * keys, "mask of a tile");
    }

    // Pairs of a wave of queries and a tile of keys of which the former sees any.
    double pairs(bool isBackward) const
    {
        std::int64_t count = 0;
        const std::int64_t first = shape_.blankRows();
        const std::int64_t offset = shape_.keys - shape_.queries;
        if (!isBackward)
            for (std::int64_t begin = first; begin < shape_.queries; begin += waveRows_) {
                const std::int64_t end = std::min(begin + waveRows_, shape_.queries);
                const std::int64_t seen = shape_.isCausal ? std::min(shape_.keys, end + offset) : shape_.keys;
                count += (seen + shape_.tileK - 1) / shape_.tileK;
            }
        // Backward goes from each tile of keys through the waves that begin where the first row sees it.
        else
            for (std::int64_t key = 0; key < shape_.keys; key += shape_.tileK) {
                const std::int64_t row = std::max(shape_.isCausal ? key - offset : first, first);
                const std::int64_t begin = first + (row - first) / shape_.tileQ * shape_.tileQ;
                count += (shape_.queries - begin + waveRows_ - 1) / waveRows_;
            }
        return static_cast<double>(count);
    }

    // All pairs, of which each does so many operations on its scores, views among them: products, and about
    // ten passes over the scores of which the cache has most.
    void timeTiles(double operations, int products, bool isBackward) const
    {
        WorkLog* log = ops_.log();
        if (log == nullptr)
            return;
        const double scores = shape_.visiblePairs();
        constexpr double kPasses = 10;
        constexpr double kAround = 12; // sums made, divided, narrowed
        log->repeat(pairs(isBackward) * operations + kAround, kPasses * scores * kWide);
        for (int i = 0; i < products; ++i)
            log->product(shape_.type, shape_.isTf32, heads(),
                         scores / static_cast<double>(heads() * shape_.headDim),
                         static_cast<double>(shape_.headDim), static_cast<double>(shape_.headDim));
    }

    Tensor forward(Tensor& logSumExp) const
    {
        timeTiles(isWide() ? 30 : 31, 2, false);
        Tensor o = ops_.make(shape_.queryCount(), Type::Float32, "output, wide");
        Tensor sums = ops_.make(shape_.rows(), Type::Float32, "sums of rows");
        const Storage maxima = ops_.temporary(shape_.rows() * kWide, "maxima of rows");
        const std::int64_t first = shape_.blankRows();
        const std::int64_t rows = std::min(waveRows_, shape_.queries - first);
        for (std::int64_t key = 0; key < std::min(shape_.keys, 2 * shape_.tileK); key += shape_.tileK)
            forwardTile(rows, first, std::min(shape_.tileK, shape_.keys - key), key);
        logSumExp = sums;
        return narrowed(o);
    }

    void forwardTile(std::int64_t rows, std::int64_t begin, std::int64_t keys, std::int64_t key) const
    {
        const std::int64_t lines = heads() * rows;
        const std::int64_t tile = heads() * keys * shape_.headDim;
        Storage p;
        {
            const Storage k = tileForQueries(keys);
            p = product(lines * keys, lines * shape_.headDim, tile);
            hide(rows, begin, keys, key);
        }
        Storage newMaxima;
        {
            const Storage maxima = ops_.temporary(lines * kWide, "maxima of a tile");
            newMaxima = ops_.temporary(lines * kWide, "new maxima");
        }
        const Storage correction = ops_.temporary(lines * kWide, "correction");
        ops_.temporary(lines * kWide, "sums of a tile");
        const Storage v = tileForQueries(keys);
        accumulate(lines * shape_.headDim, lines * keys, tile);
    }

    Tensor narrowed(const Tensor& wide) const
    {
        return isWide() ? wide : ops_.make(wide.count, shape_.type, "output");
    }

    Tensors backward() const
    {
        timeTiles(isWide() ? 26 : 32, 5, true);
        const Tensor delta = rowSums();
        Tensor q = ops_.make(shape_.queryCount(), Type::Float32, "gradient of q, wide");
        Tensor k = ops_.make(shape_.keyCount(), Type::Float32, "gradient of k, wide");
        Tensor v = ops_.make(shape_.keyCount(), Type::Float32, "gradient of v, wide");
        const std::int64_t first = shape_.blankRows();
        const std::int64_t rows = std::min(waveRows_, shape_.queries - first);
        for (std::int64_t key = 0; key < std::min(shape_.keys, 2 * shape_.tileK); key += shape_.tileK)
            backwardTile(rows, first, std::min(shape_.tileK, shape_.keys - key), key);
        if (isWide())
            return {q, k, v};
        // A list is built from its last element only on some compilers; all three exist at once in any case.
        Tensors narrow;
        narrow[0] = ops_.make(q.count, shape_.type, "gradient of q");
        narrow[1] = ops_.make(k.count, shape_.type, "gradient of k");
        narrow[2] = ops_.make(v.count, shape_.type, "gradient of v");
        return narrow;
    }

    Tensor rowSums() const
    {
        const Storage product =
            ops_.temporary(shape_.queryCount() * bytesOf(shape_.type), "o times its gradient");
        return ops_.make(shape_.rows(), Type::Float32, "row sums of it");
    }

    void backwardTile(std::int64_t rows, std::int64_t begin, std::int64_t keys, std::int64_t key) const
    {
        const std::int64_t lines = heads() * rows;
        const std::int64_t tile = heads() * keys * shape_.headDim;
        const std::int64_t queries = lines * shape_.headDim;
        const Storage k = tileForQueries(keys);
        const Storage v = tileForQueries(keys);
        const Storage gradK = ops_.temporary(tile * kWide, "gradient of a tile of k");
        const Storage gradV = ops_.temporary(tile * kWide, "gradient of a tile of v");
        {
            const Storage p = product(lines * keys, queries, tile);
            hide(rows, begin, keys, key);
            accumulate(tile, lines * keys, queries);
            const Storage gradS = product(lines * keys, queries, tile);
            accumulate(queries, lines * keys, tile);
            accumulate(tile, lines * keys, queries);
        }
        if (copiesTiles()) {
            ops_.temporary(shape_.batch * shape_.kvHeads * keys * shape_.headDim * kWide, "sum of a group");
        }
    }

    AttentionShape shape_;
    Ops& ops_;
    std::int64_t waveRows_ = 0;
};

} // namespace

std::unique_ptr<AttentionMemory> makeTiledAttention(const AttentionShape& shape, Ops& ops)
{
    return std::make_unique<TiledAttention>(shape, ops);
}

} // namespace tilescope::predict
