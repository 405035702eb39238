#include "core/report/block_facts.h"

#include "core/analysis/time/path_glob.h"
#include "core/config/schema.h"
#include "core/exchange/tables/number.h"
#include "core/model/language_model.h"
#include "core/model/text.h"
#include "core/model/topology_index.h"
#include "core/query/memory/memory_history.h"
#include "core/query/memory/saved_table.h"

#include <algorithm>
#include <map>

namespace tilescope::report {

namespace {

using exchange::Unit;

constexpr std::size_t kOpsShown = 5;

Measured inBytes(std::int64_t bytes)
{
    return {static_cast<double>(bytes), {}, 1, Unit::Bytes};
}

struct Moments {
    std::optional<Timestamp> start;
    std::optional<Timestamp> beforeOptimizer;
    std::optional<Timestamp> afterOptimizer;
};

/// Of the first traced step of the process whose allocations the run has.
Moments momentsOf(const RunFacts& run)
{
    const store::RunReader& reader = *run.recording().reader;
    const RunId id = run.record().run;
    const RunTopology topology = reader.topology(id);
    const std::vector<ThreadName> threads = reader.threads(id);
    const TopologyIndex index(topology, threads);
    Moments moments;
    std::optional<std::int32_t> first;
    reader.eachRange({.run = id}, [&](const Range& range) {
        if (range.step == kNoStep || (first && range.step != *first) ||
            index.rankOf(index.of(range.thread)).value_or(0) != 0)
            return true;
        const std::string_view path = analysis::fromStepDown(reader.text(range.path));
        if (path == "step") {
            first = range.step;
            moments.start = range.start;
            if (!moments.beforeOptimizer)
                moments.beforeOptimizer = range.end;
            moments.afterOptimizer = range.end;
        } else if (path == "step/optimizer") {
            moments.beforeOptimizer = range.start;
        }
        return true;
    });
    return moments;
}

std::shared_ptr<const query::MemoryHistory> historyOf(const RunFacts& run)
{
    return query::memoryHistory(*run.recording().reader, run.record().run, {},
                                query::MemoryParts::WithoutOps);
}

std::string blockInTheMiddle(const RunFacts& run)
{
    const auto spec = config::specOf(run.record().specJson);
    if (!spec || spec->workload != Workload::Lm)
        return {};
    return "layers." + std::to_string(spec->layers / 2);
}

bool isOf(std::string_view path, std::string_view block)
{
    const std::string_view module = analysis::moduleOf(path);
    return module == block || (module.starts_with(block) && module.substr(block.size()).starts_with("/"));
}

Fact gradientsOf(const RunFacts& run, std::string_view block)
{
    const auto history = historyOf(run);
    const Moments moments = momentsOf(run);
    if (!history || history->empty() || !moments.beforeOptimizer)
        return {};
    const std::int64_t at = (*moments.beforeOptimizer - history->origin).count();
    std::int64_t bytes = 0;
    for (const std::uint32_t i : history->aliveAt(at)) {
        const query::MemoryLife& life = history->blocks[i];
        if (life.category == MemoryCategory::Gradients && isOf(history->text(life.path), block))
            bytes += life.bytes;
    }
    return inBytes(bytes);
}

/// `aten::mm 12 MiB, aten::_softmax 8 MiB`.
Fact largestOps(const query::SavedTable& table)
{
    std::map<std::string, std::int64_t> byOp;
    for (const query::SavedRow& row : table.rows)
        if (!row.tensor.sharedWith && row.tensor.category == MemoryCategory::Activations)
            byOp[row.tensor.op] += row.tensor.storageBytes;
    std::vector<std::pair<std::string, std::int64_t>> ops(byOp.begin(), byOp.end());
    std::ranges::stable_sort(ops, std::greater(), &std::pair<std::string, std::int64_t>::second);
    std::string text;
    for (std::size_t i = 0; i < std::min(kOpsShown, ops.size()); ++i)
        text += (i > 0 ? ", " : "") + ops[i].first + " " +
                exchange::withUnit(static_cast<double>(ops[i].second), Unit::Bytes);
    return text.empty() ? Fact() : Fact(text);
}

} // namespace

Fact momentFact(const RunFacts& run, std::string_view which)
{
    const std::size_t dot = std::min(which.find('.'), which.size());
    const std::string_view when = which.substr(0, dot);
    const std::string_view what = which.substr(std::min(dot + 1, which.size()));
    const auto category = fromWord<MemoryCategory>(what);
    if (!category && what != "all")
        return {};
    const Moments moments = momentsOf(run);
    const std::optional<Timestamp> time = when == "start"              ? moments.start
                                          : when == "before_optimizer" ? moments.beforeOptimizer
                                          : when == "after_optimizer"  ? moments.afterOptimizer
                                                                       : std::nullopt;
    const auto history = historyOf(run);
    if (!time || !history || history->empty())
        return {};
    const std::int64_t at = (*time - history->origin).count();
    std::int64_t bytes = 0;
    for (const std::uint32_t i : history->aliveAt(at))
        if (!category || history->blocks[i].category == *category)
            bytes += history->blocks[i].bytes;
    return inBytes(bytes);
}

Fact blockFact(const RunFacts& run, std::string_view which)
{
    const std::string block = blockInTheMiddle(run);
    if (block.empty())
        return {};
    if (which == "gradients")
        return gradientsOf(run, block);
    if (which == "gradients_formula") {
        const auto spec = config::specOf(run.record().specJson);
        std::int64_t weights = 2 * spec->dModel; // two norms
        for (const LinearMap& map : blockMaps(*spec))
            weights += map.in * map.out;
        return inBytes(weights * std::int64_t{sizeof(float)});
    }
    query::EventQuery query;
    query.run = run.record().run;
    query.rangeGlob = "step/forward/" + block;
    const query::SavedTable table = query::saved(*run.recording().reader, query);
    if (table.rows.empty())
        return {};
    if (which == "activations")
        return inBytes(table.activations.count);
    return which == "ops" ? largestOps(table) : Fact();
}

} // namespace tilescope::report
