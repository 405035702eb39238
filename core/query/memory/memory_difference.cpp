#include "core/query/memory/memory_difference.h"

#include "core/analysis/time/path_glob.h"
#include "core/model/text.h"
#include "core/query/memory/memory_groups.h"
#include "core/query/memory/memory_history.h"
#include "core/query/runs/both_sides.h"
#include "core/query/runs/grouping.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tilescope::query {

namespace {

/// Adds up the blocks of both runs by one key.
class Sums {
public:
    void add(std::string_view key, std::int64_t bytes, bool isB, std::int64_t blocks = 1)
    {
        auto row = rows_.find(key);
        if (row == rows_.end())
            row = rows_.emplace(key, HeldDifference{.key = std::string(key)}).first;
        (isB ? row->second.b : row->second.a) += Bytes{bytes};
        (isB ? row->second.blocksB : row->second.blocksA) += blocks;
    }

    std::vector<HeldDifference> take()
    {
        std::vector<HeldDifference> rows;
        for (auto& [key, row] : rows_)
            rows.push_back(std::move(row));
        std::ranges::stable_sort(rows, std::ranges::greater{}, [](const HeldDifference& row) {
            return std::pair(std::abs(row.change().count), std::max(row.a.count, row.b.count));
        });
        return rows;
    }

private:
    std::map<std::string, HeldDifference, std::less<>> rows_;
};

struct AllSums {
    Sums categories;
    Sums ops;
    Sums modules;
    Sums ranges;
    Sums sizes;
};

std::string_view firstOf(std::string_view text, std::string_view otherwise)
{
    return text.empty() ? otherwise : text;
}

/// The module that allocated; for a stack the innermost frame outside PyTorch.
std::string_view moduleOrCaller(std::string_view path)
{
    if (const std::string_view module = analysis::moduleOf(path); !module.empty())
        return module;
    return analysis::fromStepDown(path).starts_with("step") ? std::string_view{} : callerFrame(path);
}

/// What one side held at its moment.
struct Held {
    std::shared_ptr<const MemoryHistory> history = {}; ///< mostly without the names of ops
    MemoryMoment moment = MemoryMoment::Peak;
    std::vector<std::uint32_t> blocks = {};         ///< indices
    std::unordered_map<OpId, std::string> ops = {}; ///< names of those that allocated these

    std::int64_t time() const { return moment == MemoryMoment::Peak ? history->peakTime : history->length; }
    std::string_view opOf(const MemoryLife& block) const
    {
        const auto op = ops.find(block.by);
        return op == ops.end() ? history->text(block.op) : std::string_view(op->second);
    }
};

/// The names of the ops that allocated blocks. Such an op runs when its block is allocated, so that few ops are read.
std::unordered_map<OpId, std::string> opsOf(const store::RunReader& reader, const MemoryHistory& history,
                                            std::span<const std::uint32_t> blocks)
{
    std::unordered_map<OpId, std::string> ops;
    std::unordered_set<OpId> missing;
    std::vector<std::int64_t> times;
    for (const std::uint32_t index : blocks)
        if (const MemoryLife& block = history.blocks[index]; block.by && block.op == 0) {
            missing.insert(block.by);
            times.push_back(block.begin);
        }
    const auto read = [&](const store::EventWindow& window) {
        if (!missing.empty())
            reader.eachOp(window, [&](const Op& op) {
                if (missing.erase(op.id) > 0)
                    ops.emplace(op.id, reader.text(op.name));
                return !missing.empty();
            });
    };
    constexpr std::int64_t kStretches = 500; // of the recording: what is closer is read together
    constexpr std::size_t kFewWindows = 25;
    std::vector<std::pair<std::int64_t, std::int64_t>> windows;
    std::ranges::sort(times);
    for (const std::int64_t time : times)
        if (!windows.empty() && time - windows.back().second < history.length / kStretches)
            windows.back().second = time;
        else
            windows.emplace_back(time, time);
    if (windows.size() <= kFewWindows)
        for (const auto& [from, to] : windows)
            read({.run = history.run.run,
                  .from = history.origin + Nanoseconds(from),
                  .to = history.origin + Nanoseconds(to + 1)});
    read({.run = history.run.run});
    return ops;
}

Held heldBy(const store::RunReader& reader, RunId run, std::optional<MemoryMoment> moment)
{
    Held held{.history = memoryHistory(reader, run, {}, MemoryParts::WithoutOps)};
    held.moment =
        moment.value_or(held.history->run.traits().isMemoryOnly ? MemoryMoment::End : MemoryMoment::Peak);
    if (!held.history->empty()) {
        held.blocks = held.history->aliveAt(held.time());
        held.ops = opsOf(reader, *held.history, held.blocks);
    }
    return held;
}

HeldSide addSide(AllSums& sums, const Held& held, bool isB)
{
    const std::shared_ptr<const MemoryHistory>& history = held.history;
    HeldSide side{.moment = held.moment, .recorded = !history->empty()};
    if (!side.recorded)
        return side;
    const std::int64_t time = held.time();
    side.allocated = Bytes{history->allocated.at(time)};
    side.reserved = Bytes{history->reserved.at(time)};
    std::int64_t unknown = side.allocated.count;
    for (const std::uint32_t index : held.blocks) {
        const MemoryLife& block = history->blocks[index];
        unknown -= block.bytes;
        const std::string_view path = history->text(block.path);
        const std::string_view otherwise = block.begin == MemoryLife::kBefore ? kOlderGroup : kUnattributed;
        sums.categories.add(wordOf(block.category), block.bytes, isB);
        sums.ops.add(firstOf(held.opOf(block), otherwise), block.bytes, isB);
        sums.modules.add(firstOf(moduleOrCaller(path), otherwise), block.bytes, isB);
        sums.ranges.add(firstOf(analysis::fromStepDown(path), firstOf(history->text(block.name), otherwise)),
                        block.bytes, isB);
        sums.sizes.add(std::to_string(block.bytes), block.bytes, isB);
    }
    if (unknown != 0) {
        for (Sums* each : {&sums.categories, &sums.ops, &sums.modules, &sums.ranges, &sums.sizes})
            each->add(kUnattributed, unknown, isB, 0);
    }
    return side;
}

} // namespace

std::string_view HeldDifference::verdict() const
{
    const bool inA = blocksA > 0 || a.count != 0;
    const bool inB = blocksB > 0 || b.count != 0;
    if (!inA || !inB)
        return inB ? "new" : "gone";
    if (a != b)
        return b > a ? "grown" : "shrunk";
    return blocksA == blocksB ? "none" : "count";
}

MemoryDifference memoryDifference(const store::RunReader& a, RunId runA, const store::RunReader& b,
                                  RunId runB, std::optional<MemoryMoment> moment)
{
    AllSums sums;
    MemoryDifference difference;
    const auto held = onBothSides(a, b, [&](const store::RunReader& reader, std::size_t side) {
        return heldBy(reader, side == 0 ? runA : runB, moment);
    });
    difference.a = addSide(sums, held.first, false);
    difference.b = addSide(sums, held.second, true);
    if (!difference.a.recorded || !difference.b.recorded)
        return difference;
    difference.categories = sums.categories.take();
    difference.ops = sums.ops.take();
    difference.modules = sums.modules.take();
    difference.ranges = sums.ranges.take();
    difference.sizes = sums.sizes.take();
    return difference;
}

} // namespace tilescope::query
