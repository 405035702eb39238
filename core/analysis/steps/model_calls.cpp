#include "core/analysis/steps/model_calls.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr std::string_view kNotTold =
    "several tokens of a sequence follow a context: part of a prompt, or a speculative step";
constexpr std::string_view kNoEvidence =
    "neither shapes nor the growth of a cache tell whether it processes a prompt";
constexpr std::int64_t kTokenIdBytes = 8; ///< int64, as PyTorch holds ids

/// Sizes of blocks that are allocated within a time, with their number and how many are held when it ends.
struct SizeCount {
    std::int64_t count = 0;
    std::int64_t held = 0;
};
using Sizes = std::map<std::int64_t, SizeCount>;

Sizes sizesWithin(std::span<const LivedBlock> blocks, const Interval& time)
{
    constexpr std::int64_t kMostBytes = std::int64_t{1}
                                        << 42; // a larger block fits in no memory: it is damage
    const auto first = std::ranges::lower_bound(blocks, time.start, {}, &LivedBlock::allocated);
    const auto last = std::ranges::lower_bound(blocks, time.end, {}, &LivedBlock::allocated);
    Sizes sizes;
    for (auto block = first; block < last; ++block) {
        if (block->bytes < 1 || block->bytes > kMostBytes)
            continue;
        SizeCount& size = sizes[block->bytes];
        ++size.count;
        size.held += block->freed >= time.end ? 1 : 0;
    }
    return sizes;
}

/// How sizes grow from one call to the next: bytes of a token, by the number of tokens that this makes.
using Growths = std::unordered_map<std::int64_t, std::vector<std::int64_t>>;

/// \param after  the sizes of the next call
Growths growthsOf(const Sizes& before, const Sizes& after)
{
    constexpr std::size_t kMostSizes = 400; // of one call: the sizes that change are few
    std::vector<std::int64_t> gone;
    std::vector<std::int64_t> come;
    // Other blocks may happen to have the same size: fewer of it than before count as gone.
    const auto countIn = [](const Sizes& sizes, std::int64_t bytes) {
        const auto found = sizes.find(bytes);
        return found == sizes.end() ? 0 : found->second.count;
    };
    for (const auto& [bytes, size] : before)
        if (countIn(after, bytes) < size.count)
            gone.push_back(bytes);
    for (const auto& [bytes, size] : after)
        if (countIn(before, bytes) < size.count)
            come.push_back(bytes);
    Growths growths;
    if (gone.size() > kMostSizes || come.size() > kMostSizes)
        return growths;
    for (const std::int64_t from : gone)
        for (auto to = std::ranges::upper_bound(come, from); to != come.end() && *to <= 2 * from; ++to)
            if (const std::int64_t token = *to - from; from % token == 0)
                growths[from / token].push_back(token);
    return growths;
}

/// A series of calls whose context grows by one token: the context of the first, and what a token takes.
struct Chain {
    std::size_t first = 0;
    std::size_t calls = 0;
    std::int64_t context = 0;
};

/// The best series that ends with a pair of calls.
struct SeriesEnd {
    std::int64_t grown = 0; ///< bytes, over its pairs: other blocks than the cache grow too, by less
    std::size_t pairs = 0;
    std::int64_t context = 0; ///< of the first call of its last pair

    auto operator<=>(const SeriesEnd&) const = default;
};

/// \param growths  from each call to the next
std::vector<Chain> chainsOf(const std::vector<Growths>& growths)
{
    constexpr std::size_t kFewest = 2;                                             // pairs of calls
    std::vector<std::unordered_map<std::int64_t, SeriesEnd>> ends(growths.size()); // by context
    for (std::size_t i = 0; i < growths.size(); ++i)
        for (const auto& [context, tokens] : growths[i]) {
            SeriesEnd end{*std::ranges::max_element(tokens), 1, context};
            if (i > 0)
                if (const auto before = ends[i - 1].find(context - 1); before != ends[i - 1].end()) {
                    end.grown += before->second.grown;
                    end.pairs += before->second.pairs;
                }
            ends[i][context] = end;
        }
    std::vector<Chain> chains;
    for (std::size_t last = growths.size(); last > 0;) {
        SeriesEnd best;
        for (const auto& [context, end] : ends[last - 1])
            if (end.pairs >= kFewest && end.pairs <= last)
                best = std::max(best, end);
        if (best.pairs < kFewest) {
            --last;
            continue;
        }
        chains.push_back(
            {last - best.pairs, best.pairs + 1, best.context - static_cast<std::int64_t>(best.pairs) + 1});
        last -= best.pairs;
    }
    std::ranges::reverse(chains);
    return chains;
}

/// Whether the call processes `tokens` of each sequence where the next one processes one.
bool isPrompt(const Sizes& call, const Sizes& next, std::int64_t tokens)
{
    constexpr int kFewest = 2;
    int found = 0;
    for (const auto& [bytes, size] : call)
        if (tokens > 1 && bytes % tokens == 0 && !next.contains(bytes) && next.contains(bytes / tokens))
            ++found;
    return found >= kFewest;
}

/// The share of the blocks of a call whose sizes the next one has too.
double shareOfEqual(const Sizes& call, const Sizes& next)
{
    std::int64_t same = 0;
    std::int64_t all = 0;
    for (const auto& [bytes, size] : call) {
        all += size.count;
        same += next.contains(bytes) ? size.count : 0;
    }
    // A call without blocks, such as a CUDA graph that is replayed, is like others without.
    if (all == 0)
        return next.empty() ? 1 : 0;
    return static_cast<double>(same) / static_cast<double>(all);
}

/// Whether the calls process as much. A program without a cache processes all tokens again, so that nearly all of its sizes grow.
bool areAlike(const Sizes& call, const Sizes& next)
{
    constexpr double kLeast = 0.25;
    return shareOfEqual(call, next) >= kLeast;
}

/// Bytes of the blocks that grow with the context and are held after the call.
std::int64_t cacheBytesOf(const Sizes& sizes, std::int64_t context, const std::vector<std::int64_t>& tokens)
{
    std::int64_t bytes = 0;
    for (const std::int64_t token : tokens)
        if (const auto size = sizes.find(context * token); size != sizes.end())
            bytes += size->first * size->second.held;
    return bytes;
}

/// Sequences, by the ids of the tokens that a program joins between two calls.
std::optional<std::int64_t> sequencesBetween(std::span<const LivedBlock> blocks, const ModelCall& before,
                                             const ModelCall& after, std::int64_t context)
{
    std::optional<std::int64_t> sequences;
    std::int64_t most = 0;
    for (const auto& [bytes, size] : sizesWithin(blocks, {before.time.end, after.time.start}))
        if (size.held > 0 && bytes % (kTokenIdBytes * context) == 0 && bytes >= most) {
            most = bytes;
            sequences = bytes / (kTokenIdBytes * context);
        }
    return sequences;
}

class CacheGrowth {
public:
    CacheGrowth(std::span<const ModelCall> calls, std::span<const LivedBlock> blocks)
        : calls_(calls), blocks_(blocks)
    {
        for (const ModelCall& call : calls)
            sizes_.push_back(sizesWithin(blocks, call.time));
        for (std::size_t i = 0; i + 1 < sizes_.size(); ++i)
            growths_.push_back(growthsOf(sizes_[i], sizes_[i + 1]));
    }

    void addTo(std::vector<GenerationCall>& found) const
    {
        for (const Chain& chain : chainsOf(growths_))
            addChain(chain, found);
        addByIds(found);
    }

private:
    /// Whether most calls from the first to the last are alike.
    bool mostAlike(std::size_t first, std::size_t last) const
    {
        std::size_t alike = 0;
        for (std::size_t i = first; i < last; ++i)
            alike += areAlike(sizes_[i], sizes_[i + 1]) ? 1 : 0;
        return 2 * alike >= last - first;
    }

    void setType(GenerationCall& call, std::size_t index, bool isFirst, std::int64_t context) const
    {
        call.context = context;
        call.isByCache = true;
        call.tokens.reset();
        call.why = {};
        if (isFirst && isPrompt(sizes_[index], sizes_[index + 1], context)) {
            call.type = StepType::Prefill;
            call.tokens = context;
        } else if (!isFirst || areAlike(sizes_[index], sizes_[index + 1])) {
            call.type = StepType::Decode;
            call.tokens = 1;
        } else {
            call.type = StepType::Other;
            call.why = kNoEvidence;
        }
    }

    /// Calls whose cache has a fixed size: the ids of the tokens grow between them.
    void addByIds(std::vector<GenerationCall>& found) const
    {
        std::vector<Sizes> between;
        std::vector<Growths> growths;
        for (std::size_t i = 0; i + 1 < calls_.size(); ++i)
            between.push_back(sizesWithin(blocks_, {calls_[i].time.end, calls_[i + 1].time.start}));
        for (std::size_t i = 0; i + 1 < between.size(); ++i) {
            growths.push_back(growthsOf(between[i], between[i + 1]));
            for (auto& [ids, tokens] : growths.back())
                std::erase_if(tokens, [](std::int64_t token) { return token % kTokenIdBytes != 0; });
            std::erase_if(growths.back(), [](const auto& each) { return each.second.empty(); });
        }
        for (const Chain& chain : chainsOf(growths)) {
            // A gap has the ids of the call before it and the new ones.
            const std::vector<std::int64_t>& tokens = growths[chain.first].at(chain.context);
            if (found[chain.first + 1].isByCache ||
                !mostAlike(chain.first + 1, chain.first + chain.calls - 1))
                continue;
            for (std::size_t i = 0; i <= chain.calls; ++i) {
                const std::size_t index = chain.first + i;
                // The last gap may lead to the prompt of another text, which is less like a decoding call than these are.
                constexpr double kAsAlike = 0.9;
                if (i == chain.calls && shareOfEqual(sizes_[index - 1], sizes_[index]) <
                                            kAsAlike * shareOfEqual(sizes_[index - 2], sizes_[index - 1]))
                    break;
                const std::int64_t context = chain.context + static_cast<std::int64_t>(i) - 1;
                if (found[index].isByCache || context < 1)
                    continue;
                // The program may have held the ids of a prompt before it called the model.
                constexpr double kUnlike = 0.5;
                const bool mayBegin = i == 0 || (index + 1 < sizes_.size() &&
                                                 isPrompt(sizes_[index], sizes_[index + 1], context) &&
                                                 shareOfEqual(sizes_[index], sizes_[index + 1]) < kUnlike);
                setType(found[index], index, mayBegin, context);
                found[index].sequences = *std::ranges::min_element(tokens) / kTokenIdBytes;
            }
        }
    }

    void addChain(const Chain& chain, std::vector<GenerationCall>& found) const
    {
        // Sizes of one token that hold for the whole series: those of a chance pair do not.
        std::vector<std::int64_t> tokens = growths_[chain.first + chain.calls - 2].at(
            chain.context + static_cast<std::int64_t>(chain.calls) - 2);
        for (std::size_t i = 0; i + 2 < chain.calls; ++i)
            std::erase_if(tokens, [&](std::int64_t token) {
                const auto known =
                    growths_[chain.first + i].find(chain.context + static_cast<std::int64_t>(i));
                return known == growths_[chain.first + i].end() ||
                       std::ranges::find(known->second, token) == known->second.end();
            });
        if (tokens.empty() || !mostAlike(chain.first + 1, chain.first + chain.calls - 1))
            return;
        std::map<std::int64_t, int> batches;
        for (std::size_t i = 1; i < chain.calls; ++i)
            if (const auto sequences =
                    sequencesBetween(blocks_, calls_[chain.first + i - 1], calls_[chain.first + i],
                                     chain.context + static_cast<std::int64_t>(i)))
                ++batches[*sequences];
        const auto batch =
            std::ranges::max_element(batches, {}, [](const auto& each) { return each.second; });
        for (std::size_t i = 0; i < chain.calls; ++i) {
            GenerationCall& call = found[chain.first + i];
            const std::int64_t context = chain.context + static_cast<std::int64_t>(i);
            setType(call, chain.first + i, i == 0, context);
            if (batch != batches.end() && 2 * static_cast<std::size_t>(batch->second) >= chain.calls - 1)
                call.sequences = batch->first;
            if (const std::int64_t bytes = cacheBytesOf(sizes_[chain.first + i], context, tokens); bytes > 0)
                call.cacheBytes = bytes;
        }
    }

    std::span<const ModelCall> calls_;
    std::span<const LivedBlock> blocks_;
    std::vector<Sizes> sizes_;
    std::vector<Growths> growths_;
};

void addShapes(std::span<const ModelCall> calls, std::vector<GenerationCall>& found)
{
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const ModelCall& call = calls[i];
        if (!call.tokens)
            continue;
        GenerationCall& made = found[i];
        made.sequences = call.sequences;
        made.tokens = call.tokens;
        made.context = call.context;
        const bool hasContext = call.context && *call.context > *call.tokens;
        const bool followsSame = i > 0 && calls[i - 1].sequences == call.sequences;
        const bool leads = i + 1 < calls.size() && calls[i + 1].tokens == 1 &&
                           calls[i + 1].sequences == call.sequences &&
                           (!calls[i + 1].context || *calls[i + 1].context > 1);
        if (*call.tokens == 1 && (hasContext || (!call.context && followsSame)))
            made.type = StepType::Decode;
        else if (*call.tokens > 1 && !hasContext && leads)
            made.type = StepType::Prefill;
        else
            made.why = hasContext ? kNotTold : kNoEvidence;
        made.isByCache = false;
    }
}

} // namespace

std::vector<GenerationCall> generationCalls(std::span<const ModelCall> calls,
                                            std::span<const LivedBlock> blocks)
{
    std::vector<GenerationCall> found(calls.size(), GenerationCall{.why = kNoEvidence});
    if (!blocks.empty())
        CacheGrowth(calls, blocks).addTo(found);
    addShapes(calls, found);
    if (std::ranges::none_of(found, [](const GenerationCall& call) { return call.type == StepType::Decode; }))
        return {};
    std::int32_t generation = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto& before = i > 0 ? found[i - 1] : found[i];
        const bool continues =
            i > 0 && found[i].type == StepType::Decode && before.type != StepType::Other &&
            (!found[i].context || !before.context || *found[i].context == *before.context + 1);
        generation += i > 0 && !continues ? 1 : 0;
        found[i].generation = generation;
    }
    return found;
}

} // namespace tilescope::analysis
