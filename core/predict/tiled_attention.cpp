#include "core/predict/attention.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <set>
#include <vector>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kWide = 4; // bytes of fp32, the type of the sums

// The flash-torch backend: scores exist for one wave of query rows and one tile of keys. Pairs of a wave and
// a tile with the same sizes allocate the same, so each combination of sizes is replayed once.
class TiledAttention final : public AttentionMemory {
public:
    TiledAttention(const TypedAttention& shape, Ops& ops) : shape_(shape), ops_(ops)
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
                    [this, q, k, v, o, logSumExp](const Tensors& g) { return backward(g[0]); });
        return o;
    }

private:
    std::int64_t heads() const { return shape_.batch * shape_.heads; }
    bool isWide() const { return shape_.type == Type::Float32; }
    bool sumsGroups() const { return shape_.heads != shape_.kvHeads; }
    // A single head of keys is expanded by a stride of zero.
    bool copiesTiles() const { return sumsGroups() && shape_.batch * shape_.kvHeads > 1; }

    // A tile of k or v, with a copy for each query head that shares it.
    Storage tileForQueries(std::int64_t keys) const
    {
        return copiesTiles()
                   ? ops_.temporary(heads() * keys * shape_.headDim * bytesOf(shape_.type), "tile, expanded")
                   : Storage();
    }

    // For half-precision factors a GPU writes an fp32 product directly; a CPU converts the factors first.
    Storage product(std::int64_t count, std::int64_t first, std::int64_t second) const
    {
        ops_.useWorkspace();
        if (isWide() || ops_.isCuda())
            return ops_.temporary(count * kWide, "tile product");
        const Storage b = ops_.temporary(second * kWide, "factor, widened");
        const Storage a = ops_.temporary(first * kWide, "factor, widened");
        return ops_.temporary(count * kWide, "tile product");
    }

    // Adds a product to a tensor: in place unless a conversion is needed.
    void accumulate(std::int64_t count, std::int64_t wideFactor, std::int64_t other) const
    {
        ops_.useWorkspace();
        if (isWide())
            return;
        const Storage narrow = ops_.temporary(wideFactor * bytesOf(shape_.type), "tile, narrowed");
        product(count, wideFactor, other);
    }

    // The sizes of a wave of queries and a tile of keys.
    struct Pair {
        std::int64_t rows;
        std::int64_t keys;
        std::int64_t crossed; ///< number of leading rows that do not see all keys; 0 or less: none
        auto operator<=>(const Pair&) const = default;
    };

    Pair pairAt(std::int64_t row, std::int64_t end, std::int64_t key) const
    {
        const std::int64_t keys = std::min(shape_.tileK, shape_.keys - key);
        const std::int64_t crossed = std::min(end, key + keys - 1 - offset()) - row;
        return {end - row, keys, shape_.causal ? std::max<std::int64_t>(crossed, 0) : 0};
    }
    std::int64_t offset() const { return shape_.keys - shape_.queries; }
    // The first row of a query tile, at or after `lowest`, with a row that sees `key`.
    std::int64_t firstRowThatSees(std::int64_t key, std::int64_t lowest) const
    {
        if (!shape_.causal)
            return lowest;
        const std::int64_t first = shape_.blankRows();
        const std::int64_t row = std::max(key - offset(), first);
        return std::max(lowest, first + (row - first) / shape_.tileQ * shape_.tileQ);
    }

    // Scales the scores and masks those of keys that a row does not see.
    void scaleAndHide(const Pair& pair) const
    {
        scale();
        if (pair.crossed > 0)
            ops_.temporary(pair.crossed * pair.keys, "mask of a tile");
    }
    void scale() const
    {
        const Storage wide = ops_.number(sizeof(double));
        const Storage cast = ops_.number(sizeof(float));
    }

    // Number of pairs of a query wave and a key tile with a visible key.
    double pairs(bool isBackward) const
    {
        std::int64_t count = 0;
        const std::int64_t first = shape_.blankRows();
        const std::int64_t offset = shape_.keys - shape_.queries;
        if (!isBackward)
            for (std::int64_t begin = first; begin < shape_.queries; begin += waveRows_) {
                const std::int64_t end = std::min(begin + waveRows_, shape_.queries);
                const std::int64_t seen = shape_.causal ? std::min(shape_.keys, end + offset) : shape_.keys;
                count += (seen + shape_.tileK - 1) / shape_.tileK;
            }
        // Backward visits, for each tile of keys, the waves from the first row that sees it.
        else
            for (std::int64_t key = 0; key < shape_.keys; key += shape_.tileK) {
                const std::int64_t row = std::max(shape_.causal ? key - offset : first, first);
                const std::int64_t begin = first + (row - first) / shape_.tileQ * shape_.tileQ;
                count += (shape_.queries - begin + waveRows_ - 1) / waveRows_;
            }
        return static_cast<double>(count);
    }

    // Logs all pairs: the products, and the operations on the scores, including views. About ten passes over
    // the scores, mostly from cache.
    void timeTiles(double operations, int products, bool isBackward) const
    {
        WorkLog* log = ops_.log();
        if (log == nullptr)
            return;
        const double scores = shape_.visiblePairs();
        constexpr double kPasses = 10;
        constexpr double kAround = 12; // creating, dividing and converting the sums
        log->repeat(pairs(isBackward) * operations + kAround, kPasses * scores * kWide);
        for (int i = 0; i < products; ++i)
            log->product(shape_.type, shape_.allowTf32, heads(),
                         scores / static_cast<double>(heads() * shape_.headDim),
                         static_cast<double>(shape_.headDim), static_cast<double>(shape_.headDim));
    }

    Tensor forward(Tensor& logSumExp) const
    {
        timeTiles(isWide() ? 30 : 31, 2, false);
        Tensor o = ops_.make(shape_.queryCount(), Type::Float32, "output, wide");
        Tensor sums = ops_.make(shape_.rows(), Type::Float32, "sums of rows");
        const Storage maxima = ops_.temporary(shape_.rows() * kWide, "maxima of rows");
        std::set<Pair> seen;
        for (std::int64_t begin = shape_.blankRows(); begin < shape_.queries; begin += waveRows_) {
            const std::int64_t end = std::min(begin + waveRows_, shape_.queries);
            const std::int64_t keysSeen = shape_.causal ? std::min(shape_.keys, end + offset()) : shape_.keys;
            // Tiles between the first and those that the diagonal crosses have equal sizes.
            const std::int64_t crossing = shape_.causal ? begin + offset() : shape_.keys - 1;
            const std::int64_t resume = std::max(shape_.tileK, crossing / shape_.tileK * shape_.tileK);
            for (std::int64_t key = 0; key < keysSeen; key = key == 0 ? resume : key + shape_.tileK)
                if (const Pair pair = pairAt(firstRowThatSees(key, begin), end, key);
                    seen.insert(pair).second)
                    forwardTile(pair);
        }
        logSumExp = sums;
        return narrowed(o);
    }

    void forwardTile(const Pair& pair) const
    {
        const std::int64_t lines = heads() * pair.rows;
        const std::int64_t tile = heads() * pair.keys * shape_.headDim;
        Storage p;
        {
            const Storage k = tileForQueries(pair.keys);
            p = product(lines * pair.keys, lines * shape_.headDim, tile);
            scaleAndHide(pair);
        }
        Storage newMaxima;
        {
            const Storage maxima = ops_.temporary(lines * kWide, "maxima of a tile");
            newMaxima = ops_.temporary(lines * kWide, "new maxima");
        }
        const Storage correction = ops_.temporary(lines * kWide, "correction");
        ops_.temporary(lines * kWide, "sums of a tile");
        const Storage v = tileForQueries(pair.keys);
        accumulate(lines * shape_.headDim, lines * pair.keys, tile);
    }

    Tensor narrowed(const Tensor& wide) const
    {
        return isWide() ? wide : ops_.make(wide.count, shape_.type, "output");
    }

    Tensors backward(const Tensor& gradient) const
    {
        timeTiles(isWide() ? 26 : 32, 5, true);
        const Storage byHead = gradient.isTransposed ? ops_.temporary(gradient.bytes(), "gradient by head")
                                                     : Storage(); // tiles are views of contiguous heads
        const Tensor delta = rowSums();
        Tensor q = ops_.make(shape_.queryCount(), Type::Float32, "gradient of q, wide");
        Tensor k = ops_.make(shape_.keyCount(), Type::Float32, "gradient of k, wide");
        Tensor v = ops_.make(shape_.keyCount(), Type::Float32, "gradient of v, wide");
        std::set<Pair> seen;
        for (std::int64_t key = 0; key < shape_.keys; key += shape_.tileK)
            backwardTile(wavesThatSee(key, seen), std::min(shape_.tileK, shape_.keys - key));
        return isWide() ? Tensors{q, k, v} : makeGradients(shape_, ops_);
    }

    Tensor rowSums() const
    {
        const Storage product =
            ops_.temporary(shape_.queryCount() * bytesOf(shape_.type), "o times its gradient");
        return ops_.make(shape_.rows(), Type::Float32, "row sums of it");
    }

    // The waves that see a tile of keys, one per combination of sizes.
    std::vector<Pair> wavesThatSee(std::int64_t key, std::set<Pair>& seen) const
    {
        std::vector<Pair> pairs;
        const auto add = [&](std::int64_t begin) {
            const Pair pair = pairAt(begin, std::min(begin + waveRows_, shape_.queries), key);
            if (seen.insert(pair).second)
                pairs.push_back(pair);
            return pair;
        };
        std::int64_t begin = firstRowThatSees(key, shape_.blankRows());
        // From the first wave below the diagonal on, all but the last have equal sizes.
        while (begin < shape_.queries && add(begin).crossed > 0)
            begin += waveRows_;
        if (begin < shape_.queries)
            add(begin + (shape_.queries - 1 - begin) / waveRows_ * waveRows_);
        return pairs;
    }

    void backwardTile(const std::vector<Pair>& waves, std::int64_t keys) const
    {
        if (waves.empty())
            return;
        const std::int64_t tile = heads() * keys * shape_.headDim;
        const Storage k = tileForQueries(keys);
        const Storage v = tileForQueries(keys);
        const Storage gradK = ops_.temporary(tile * kWide, "gradient of a tile of k");
        const Storage gradV = ops_.temporary(tile * kWide, "gradient of a tile of v");
        for (const Pair& pair : waves)
            backwardWave(pair);
        if (sumsGroups())
            ops_.temporary(shape_.batch * shape_.kvHeads * keys * shape_.headDim * kWide, "sum of a group");
    }

    void backwardWave(const Pair& pair) const
    {
        const std::int64_t lines = heads() * pair.rows;
        const std::int64_t tile = heads() * pair.keys * shape_.headDim;
        const std::int64_t queries = lines * shape_.headDim;
        const Storage p = product(lines * pair.keys, queries, tile);
        scaleAndHide(pair);
        accumulate(tile, lines * pair.keys, queries);
        const Storage gradS = product(lines * pair.keys, queries, tile);
        scale();
        accumulate(queries, lines * pair.keys, tile);
        accumulate(tile, lines * pair.keys, queries);
    }

    TypedAttention shape_;
    Ops& ops_;
    std::int64_t waveRows_ = 0;
};

} // namespace

std::unique_ptr<AttentionMemory> makeTiledAttention(const TypedAttention& shape, Ops& ops)
{
    return std::make_unique<TiledAttention>(shape, ops);
}

} // namespace tilescope::predict
