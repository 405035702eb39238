#include "core/report/selection.h"

#include "core/config/key_text.h"

#include <algorithm>

namespace tilescope::report {

bool matches(const RunFacts& run, const Where& where)
{
    return std::ranges::all_of(where, [&](const auto& key) { return run.param(key.first) == key.second; });
}

RunList select(const StudyRuns& study, const std::string& part, const Where& where)
{
    RunList selected;
    for (const PartRuns& candidate : study.parts)
        if (part.empty() || candidate.name == part)
            for (const auto& run : candidate.runs)
                if (matches(*run, where) && std::ranges::find(selected, run) == selected.end())
                    selected.push_back(run);
    return selected;
}

std::vector<std::vector<std::string>> distinctKeys(const RunList& runs, const std::vector<std::string>& keys)
{
    std::vector<std::vector<std::string>> rows;
    for (const auto& run : runs) {
        std::vector<std::string> row;
        for (const std::string& key : keys)
            row.emplace_back(run->param(key));
        if (std::ranges::find(rows, row) == rows.end())
            rows.push_back(std::move(row));
    }
    return rows;
}

Fact quantityOf(const RunList& runs, const RunList& divisors, const Quantity& quantity,
                std::shared_ptr<const RunFacts>& run)
{
    const auto first = [](const RunList& among, const Where& where) -> std::shared_ptr<const RunFacts> {
        const auto found = std::ranges::find_if(among, [&](const auto& one) { return matches(*one, where); });
        return found == among.end() ? nullptr : *found;
    };
    run = first(runs, quantity.from);
    if (!run)
        return {};
    if (quantity.over.empty())
        return run->fact(quantity.value);
    const auto divisor = quantity.overFrom.empty() ? run : first(divisors, quantity.overFrom);
    if (divisor && divisor->status() != RunStatus::Ok)
        run = divisor; // its status explains the missing ratio
    const auto above = run->status() == RunStatus::Ok ? run->number(quantity.value) : std::nullopt;
    const auto below = divisor ? divisor->number(quantity.over) : std::nullopt;
    if (!above || !below || below->value == 0)
        return {};
    return Measured{above->value / below->value, {}, std::min(above->n, below->n), exchange::Unit::None};
}

const RunList& divisorsOf(const Quantity& quantity, const std::vector<std::string>& keys, const RunList& row,
                          const RunList& part)
{
    const bool isOneOfPart = !keys.empty() && std::ranges::all_of(keys, [&](const std::string& key) {
        return std::ranges::find(quantity.overFrom, key, &Where::value_type::first) !=
               quantity.overFrom.end();
    });
    return isOneOfPart ? part : row;
}

std::string filled(const std::string& text, const RunList& runs)
{
    return config::filledText(text, [&runs](const std::string& key) {
        std::vector<std::string> values;
        for (const auto& run : runs)
            values.emplace_back(run->param(key));
        return values;
    });
}

} // namespace tilescope::report
