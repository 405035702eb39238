#include "core/predict/onednn_tiles.h"

#include "core/predict/fused_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <unordered_set>
#include <utility>

namespace tilescope::predict {

namespace {

constexpr std::int64_t kBytesOfHalf = 2;
constexpr std::int64_t kInner = 32;   ///< values of a row of a tile
constexpr std::int64_t kColumns = 64; ///< at most, of a block of C
constexpr std::int64_t kRows = 64;    ///< at most, of a block of C
constexpr std::int64_t kTileRows = 16;
/// Three quarters of the second cache of a core: 2 MiB on each processor with AMX so far.
constexpr std::size_t kCache = 3 * (std::size_t{2} << 20) / 4;

/// Blocks of a product, and what follows from them.
struct Blocks {
    std::int64_t rows = 0;        ///< of a block of C
    std::int64_t columns = 0;     ///< of a block of C
    std::int64_t inner = 0;       ///< of a block of A and B
    std::int64_t rowGroup = 1;    ///< blocks of rows that a thread computes one after the other
    std::int64_t columnGroup = 1; ///< likewise of columns
    std::int64_t batch = 0;       ///< blocks of A and B that one call of the kernel adds up
    std::int64_t innerThreads = 1;
    std::int64_t lengthOfRow = 0; ///< of a block of A
    bool copiesFirst = false;     ///< A
    bool keepsSums = false;       ///< C in fp32
    bool extendsInner = false;    ///< the last tile of a row goes beyond it
    std::size_t memory = 0;       ///< of a group
    float score = 0;

    std::int64_t innerOfCall() const { return inner * batch; }
    std::int64_t rowsOfGroup() const { return rows * rowGroup; }
    std::int64_t columnsOfGroup() const { return columns * columnGroup; }
};

/// The blocks that oneDNN chooses. The computation repeats oneDNN's in fp32 and in oneDNN's order: rounding decides between choices of
/// nearly equal scores, and each candidate starts from the fields that the previous one left.
class BlockChoice {
public:
    BlockChoice(const CpuProduct& product, std::int64_t threads)
        : product_(product), threads_(threads),
          hasLongPowerOf2_(!product.isFirstTransposed && isPowerOf2(product.inner) && product.inner >= kLong),
          alwaysCopies_(product.isFirstTransposed || (hasLongPowerOf2_ && product.rows >= kManyRows))
    {
        now_.copiesFirst = alwaysCopies_;
        choose();
    }

    const Blocks& best() const { return best_; }

private:
    static constexpr std::int64_t kLong = 8192 / kBytesOfHalf;
    static constexpr std::int64_t kManyRows = 1024;

    /// Blocks of rows that fill 13 or more rows of tiles.
    static std::int64_t wholeRows(std::int64_t rows)
    {
        for (std::int64_t ofTile = kTileRows; ofTile >= 13; --ofTile)
            for (std::int64_t tiles = 4; tiles >= 2; --tiles)
                if (rows % (tiles * ofTile) == 0)
                    return tiles * ofTile;
        return std::min(rows, kRows);
    }

    void choose()
    {
        const std::int64_t most = divideUp(product_.inner, 1024);
        mostInnerThreads_ =
            product_.batch == 1 ? std::min(std::clamp<std::int64_t>(threads_ / 8, 1, 7), most) : 1;
        for (std::int64_t innerThreads = 1; innerThreads <= mostInnerThreads_; ++innerThreads)
            chooseWith(innerThreads, std::min(most, innerThreads));
    }

    void chooseWith(std::int64_t innerThreads, std::int64_t innerWork)
    {
        const std::int64_t mostRows = wholeRows(product_.rows);
        const std::int64_t columns = std::min(kColumns, product_.columns);
        const std::int64_t rowBlocks = divideUp(product_.rows, mostRows);
        const std::int64_t columnBlocks = divideUp(product_.columns, columns);
        const std::int64_t work = product_.batch * rowBlocks * columnBlocks * innerWork;
        const bool isLittle = static_cast<float>(work) < 1.5F * static_cast<float>(threads_);
        const std::int64_t leastRows = isLittle && mostRows > 32 ? divideUp(mostRows, 2) : mostRows;
        const std::int64_t rowGroups = std::min<std::int64_t>(4, rowBlocks);
        const std::int64_t columnGroups = std::min<std::int64_t>(work > 16 * threads_ ? 6 : 4, columnBlocks);
        // Of equal scores the first wins, so the candidates are tried in the order of the container that oneDNN uses.
        std::unordered_set<int> rowCandidates;
        for (std::int64_t rows = mostRows; rows >= leastRows; rows = rows > 1 ? divideUp(rows, 2) : rows - 1)
            rowCandidates.insert(static_cast<int>(rows));
        if (product_.rows > kTileRows)
            for (std::int64_t rows = std::min(product_.rows / kTileRows * kTileRows, kRows);
                 rows >= roundedUp(leastRows, kTileRows); rows -= kTileRows)
                rowCandidates.insert(static_cast<int>(rows));
        bool found = false;
        for (const int rows : rowCandidates)
            for (std::int64_t columnGroup = columnGroups; columnGroup >= 1; --columnGroup)
                for (std::int64_t rowGroup = rowGroups; rowGroup >= 1; --rowGroup) {
                    set(innerThreads, {columns, columnGroup}, {rows, rowGroup});
                    found = (!isUneven() && keepIfBetter()) || found;
                }
        if (found)
            return;
        set(innerThreads, {columns, 1}, {leastRows, 1});
        keepIfBetter();
    }

    /// Whether some threads would have less work than others. oneDNN exempts three shapes.
    bool isUneven() const
    {
        const auto& [type, batch, rows, columns, inner, isFirstTransposed] = product_;
        const std::int64_t threads = threads_ / now_.innerThreads;
        const std::int64_t work =
            batch * divideUp(rows, now_.rowsOfGroup()) * divideUp(columns, now_.columnsOfGroup());
        const bool isExempt = rows == 4 && ((columns == 4096 && (inner == 4096 || inner == 11008)) ||
                                            (columns == 11008 && inner == 4096));
        return work < threads * 3 && work % threads != 0 && mostInnerThreads_ == 1 && !isExempt;
    }

    bool keepIfBetter()
    {
        if (now_.score <= best_.score)
            return false;
        best_ = now_;
        return true;
    }

    void set(std::int64_t innerThreads, std::pair<std::int64_t, std::int64_t> columns,
             std::pair<std::int64_t, std::int64_t> rows)
    {
        now_.innerThreads = innerThreads;
        std::tie(now_.columns, now_.columnGroup) = columns;
        std::tie(now_.rows, now_.rowGroup) = rows;
        if (product_.inner < kInner) {
            now_.inner = roundedUp(product_.inner, kPaired);
            now_.batch = 1;
        } else {
            setInner();
        }
        now_.copiesFirst = alwaysCopies_ || (!now_.extendsInner && product_.inner % kPaired != 0);
        now_.memory = memoryOfGroup();
        now_.score = score();
    }

    void setInner()
    {
        const std::int64_t inner = product_.inner;
        now_.inner = std::min(roundedUp(divideUp(inner, now_.innerThreads), kPaired), kInner);
        const std::int64_t ofThread = divideUp(divideUp(inner, now_.inner), now_.innerThreads);
        now_.batch = ofThread;
        const auto memory = static_cast<std::int64_t>(memoryOfGroup());
        const auto cache = static_cast<std::int64_t>(kCache);
        const std::int64_t few = memory / cache;
        if (few > (hasLongPowerOf2_ ? 2 : 0) && now_.batch > 1) {
            const std::int64_t larger = std::max<std::int64_t>(now_.batch / few, 1);
            const std::int64_t smaller = divideUp(now_.batch, divideUp(memory, cache));
            const std::int64_t restOfLarger = ofThread % larger;
            const std::int64_t restOfSmaller = ofThread % smaller;
            const bool isSmallerEvener = restOfLarger == 0 || restOfSmaller < restOfLarger;
            now_.batch = !isSmallerEvener || restOfSmaller == 0 ? smaller : larger;
        }
        const std::int64_t ofCall = now_.innerOfCall();
        const std::int64_t rest = inner % now_.inner;
        now_.extendsInner =
            inner % kInner != 0 && ofCall > kInner && !alwaysCopies_ && now_.lengthOfRow == inner;
        if (now_.extendsInner) {
            now_.inner = std::min(ofCall, inner);
            now_.batch = 1;
        } else if (rest == 0 && inner % ofCall == 0) {
            now_.inner = ofCall;
            now_.batch = 1;
        } else if (now_.innerThreads == 1 && inner == ofCall + rest) {
            now_.inner = ofCall;
            now_.batch = 2;
        }
    }

    std::size_t memoryOfGroup()
    {
        const std::int64_t inner = now_.innerOfCall();
        now_.lengthOfRow = product_.inner;
        if (now_.copiesFirst) {
            now_.lengthOfRow = roundedUp(now_.inner, kInner);
            if (now_.lengthOfRow >= 512 && isPowerOf2(now_.lengthOfRow))
                now_.lengthOfRow += kInner;
        }
        now_.keepsSums = product_.inner > inner || product_.inner % now_.inner > 0;
        const std::int64_t rows = now_.rowsOfGroup();
        const std::int64_t columns = now_.columnsOfGroup();
        const std::int64_t copy = now_.copiesFirst ? kBytesOfHalf * now_.lengthOfRow * now_.batch * rows : 0;
        const std::int64_t sums = now_.keepsSums ? kFloat * rows * columns : 0;
        return static_cast<std::size_t>(kBytesOfHalf * inner * rows + copy + kBytesOfHalf * inner * columns +
                                        kBytesOfHalf * now_.columns * inner + kBytesOfHalf * rows * columns +
                                        sums);
    }

    float score() const
    {
        const auto threads = static_cast<float>(std::min<std::int64_t>(threads_, 100));
        const float balance = (threads - 1.0F) / threads;
        const float cache = 1.0F / threads;
        float sum = cache * cacheUse() + reuse();
        if (balance > 0.0F)
            sum += balance * threadBalance();
        return sum / (1.0F + balance + cache);
    }

    float cacheUse() const
    {
        const float difference = std::fabs(static_cast<float>(kCache) - static_cast<float>(now_.memory)) /
                                 static_cast<float>(std::max(kCache, now_.memory));
        return 1.0F - difference;
    }

    float reuse() const
    {
        const auto shareOf = [](std::int64_t part, std::int64_t wanted) {
            return std::min(static_cast<float>(part) / static_cast<float>(wanted), 1.0F);
        };
        return 0.5F * (shareOf(now_.rowsOfGroup(), std::min<std::int64_t>(product_.rows, 256)) +
                       shareOf(now_.columnsOfGroup(),
                               std::min<std::int64_t>(product_.columns, now_.copiesFirst ? 256 : 64)));
    }

    float threadBalance() const
    {
        const auto in = [](std::int64_t value, std::int64_t unit) {
            return static_cast<float>(value) / static_cast<float>(unit);
        };
        const std::int64_t threads = threads_ / now_.innerThreads;
        const std::int64_t groups = product_.batch * divideUp(product_.rows, now_.rowsOfGroup()) *
                                    divideUp(product_.columns, now_.columnsOfGroup());
        const float ofGroups = static_cast<float>(product_.batch) * in(product_.rows, now_.rowsOfGroup()) *
                               in(product_.columns, now_.columnsOfGroup()) /
                               static_cast<float>(roundedUp(groups, threads)) * static_cast<float>(threads);
        float ofInner = 1;
        if (now_.innerThreads > 1)
            ofInner = 0.8F * in(product_.inner, now_.innerOfCall()) /
                      static_cast<float>(
                          roundedUp(divideUp(product_.inner, now_.innerOfCall()), now_.innerThreads)) *
                      static_cast<float>(now_.innerThreads);
        return ofGroups * ofInner / static_cast<float>(threads_);
    }

    const CpuProduct product_;
    const std::int64_t threads_;
    const bool hasLongPowerOf2_; ///< rows of A whose addresses collide in the cache
    const bool alwaysCopies_;    ///< A
    std::int64_t mostInnerThreads_ = 1;
    Blocks now_;
    Blocks best_;
};

std::int64_t bytesFor(const CpuProduct& product, const Blocks& blocks, std::int64_t threads)
{
    constexpr std::int64_t kTile = 1024;
    constexpr std::int64_t kMostTiles = 4;
    constexpr std::int64_t kBatchElement = 16 * 40; // pointers to the blocks of a call
    const std::int64_t used = threads / blocks.innerThreads * blocks.innerThreads;
    const auto booked = [used](std::int64_t bytesOfThread) {
        return bytesOfThread == 0 ? 0 : used * bytesOfThread + kBufferAlignment;
    };
    const std::int64_t first =
        blocks.copiesFirst ? kBytesOfHalf * blocks.rows * blocks.lengthOfRow * blocks.batch * blocks.rowGroup
                           : 0;
    const std::int64_t second = kBytesOfHalf * kColumns * roundedUp(blocks.inner, kInner) * blocks.batch;
    std::int64_t sums = 0;
    if (blocks.keepsSums && blocks.innerThreads > 1)
        sums = kFloat * product.columns * product.rows;
    else if (blocks.keepsSums)
        sums = kFloat * blocks.rows * roundedUp(blocks.columns, std::min<std::int64_t>(32, blocks.columns)) *
               (blocks.innerOfCall() >= product.inner ? 1 : blocks.rowGroup * blocks.columnGroup);
    // oneDNN may use fewer tiles for narrow products: the result is then too large by at most 3 KiB per thread.
    const std::int64_t tiles =
        std::min(kMostTiles, divideUp(blocks.rows, kTileRows) * divideUp(blocks.columns, kTileRows)) +
        (blocks.extendsInner ? 1 : 0);
    return booked(kBatchElement * blocks.batch) + booked(first) + booked(second) + booked(sums) +
           booked(kTile * tiles);
}

} // namespace

std::optional<std::int64_t> tileProductScratch(const CpuProduct& product, std::int64_t threads)
{
    constexpr std::int64_t kSmallBlock = 126; // bytes of A below which instructions without tiles are faster
    CpuProduct stored = product;
    stored.isFirstTransposed = product.isFirstTransposed && product.rows != 1; // one row is stored alike
    const BlockChoice choice(stored, threads);
    const Blocks& blocks = choice.best();
    if (kBytesOfHalf * blocks.rows * blocks.lengthOfRow <= kSmallBlock)
        return {};
    return bytesFor(stored, blocks, threads);
}

} // namespace tilescope::predict
