#include "core/query/waiting/compared_lines.h"

#include <map>
#include <tuple>

namespace tilescope::query {

namespace {

using LineKey = std::tuple<std::string, std::int64_t, std::string, std::string>;

LineKey keyOf(const WaitingRow& row)
{
    return row.line ? LineKey{row.line->file, row.line->line, row.line->function, {}}
                    : LineKey{{}, 0, {}, row.cause};
}

} // namespace

std::vector<ComparedLine> comparedLines(const WaitingTable& a, const WaitingTable& b)
{
    std::vector<ComparedLine> lines;
    std::map<LineKey, std::size_t> places;
    const auto add = [&](const WaitingTable& table, std::optional<double> ComparedLine::*side) {
        for (const WaitingRow& row : table.rows) {
            const auto [place, isNew] = places.try_emplace(keyOf(row), lines.size());
            if (isNew)
                lines.push_back({.line = row.line, .cause = row.cause});
            std::optional<double>& time = lines[place->second].*side;
            time = time.value_or(0) + table.perGpuStep(row.idle);
        }
    };
    add(a, &ComparedLine::a);
    add(b, &ComparedLine::b);
    return lines;
}

} // namespace tilescope::query
