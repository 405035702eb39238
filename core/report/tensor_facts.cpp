#include "core/report/tensor_facts.h"

#include "core/exchange/tables/number.h"
#include "core/query/memory/saved_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace tilescope::report {

namespace {

using exchange::Unit;

Measured bytesOf(std::int64_t bytes)
{
    return {static_cast<double>(bytes), {}, 1, Unit::Bytes};
}

/// `P, dP, 2 cuBLAS workspace`.
std::string counted(const std::vector<std::string_view>& names)
{
    std::string text;
    std::set<std::string_view> done;
    for (const std::string_view name : names)
        if (done.insert(name).second) {
            const auto count = std::ranges::count(names, name);
            text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : std::string()) +
                    std::string(name);
        }
    return text;
}

std::string atPeak(const query::NamedMemory& named)
{
    std::map<std::int64_t, std::vector<std::string_view>, std::greater<>> bySize;
    for (const query::NamedBlock& row : named.rows)
        if (row.life.isAliveAt(named.history->peakTime) && !row.name.empty())
            bySize[row.life.bytes].push_back(row.name);
    std::string text;
    for (const auto& [bytes, names] : bySize)
        if (bytes * 1000 >= named.allocated) // skip labels of less than a thousandth
            text += (text.empty() ? "" : "; ") + exchange::withUnit(static_cast<double>(bytes), Unit::Bytes) +
                    ": " + counted(names);
    return text;
}

std::string reuse(const query::NamedMemory& named)
{
    std::string text;
    for (const query::NamedBlock& row : named.rows)
        if (!row.reuses.empty() && !row.name.empty())
            text += (text.empty() ? "" : "; ") + row.name + " where " + row.reuses + " was";
    return text;
}

} // namespace

Fact tensorFact(const query::NamedMemory& named, std::string_view which)
{
    if (named.history->empty())
        return {};
    if (which == "at_peak")
        return atPeak(named);
    if (which == "reuse")
        return reuse(named);
    std::int64_t workspaces = 0;
    const query::NamedBlock* found = nullptr;
    for (const query::NamedBlock& row : named.rows) {
        if (row.life.category == MemoryCategory::Workspace && row.life.isAliveAt(named.history->peakTime))
            workspaces += row.life.bytes;
        if (row.name == which)
            found = &row; // keep the last: tensors of this step come after those of the previous one
    }
    if (which == "workspaces")
        return bytesOf(workspaces);
    return found ? Fact(bytesOf(found->life.bytes)) : Fact();
}

Fact residualFact(const RunFacts& run, std::string_view which)
{
    query::EventQuery query;
    query.run = run.record().run;
    const query::SavedTable table = query::saved(*run.recording().reader, query);
    if (!table.residual)
        return {};
    const query::ResidualStream& stream = *table.residual;
    if (which == "formula")
        return bytesOf(stream.formula().count);
    if (which == "shape")
        return stream.measured.shape + " " + stream.measured.dtype;
    if (which == "held")
        return Measured{static_cast<double>(stream.tensors)};
    return bytesOf(stream.measured.bytes);
}

} // namespace tilescope::report
