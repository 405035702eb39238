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

HeldSide addSide(AllSums& sums, const std::shared_ptr<const MemoryHistory>& history, bool isB,
                 std::optional<MemoryMoment> moment)
{
    HeldSide side{.moment = moment.value_or(history->run.traits().isMemoryOnly ? MemoryMoment::End
                                                                               : MemoryMoment::Peak),
                  .recorded = !history->empty()};
    if (!side.recorded)
        return side;
    const std::int64_t time = side.moment == MemoryMoment::Peak ? history->peakTime : history->length;
    side.allocated = Bytes{history->allocated.at(time)};
    side.reserved = Bytes{history->reserved.at(time)};
    std::int64_t unknown = side.allocated.count;
    for (const std::uint32_t index : history->aliveAt(time)) {
        const MemoryLife& block = history->blocks[index];
        unknown -= block.bytes;
        const std::string_view path = history->text(block.path);
        const std::string_view otherwise = block.begin == MemoryLife::kBefore ? kOlderGroup : kUnattributed;
        sums.categories.add(wordOf(block.category), block.bytes, isB);
        sums.ops.add(firstOf(history->text(block.op), otherwise), block.bytes, isB);
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
    const auto histories = onBothSides(a, b, [&](const store::RunReader& reader, std::size_t side) {
        return memoryHistory(reader, side == 0 ? runA : runB);
    });
    difference.a = addSide(sums, histories.first, false, moment);
    difference.b = addSide(sums, histories.second, true, moment);
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
