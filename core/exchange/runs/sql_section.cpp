#include "core/exchange/runs/sql_section.h"

#include "core/analysis/kernels/kernel_families.h"
#include "core/base/terminal_text.h"
#include "core/exchange/tables/text.h"

#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace tilescope::exchange {

namespace {

/// JSON has no infinite numbers, and null would say that there is no value: they are texts.
Cell sqlCell(const store::SqlResult::Value& value)
{
    if (const auto* real = std::get_if<double>(&value); real && std::isinf(*real))
        return std::string(*real < 0 ? "-inf" : "inf");
    return std::visit([](const auto& held) { return Cell(held); }, value);
}

std::string kernelFamily(std::string_view name)
{
    return std::string(wordOf(analysis::KernelFamilies::standard().describe(name).family));
}

std::string kernelName(std::string_view name)
{
    return analysis::KernelFamilies::standard().describe(name).shortName;
}

constexpr std::array kFunctions{store::SqlTextFunction{"kernel_family", kernelFamily},
                                store::SqlTextFunction{"kernel_name", kernelName}};

} // namespace

std::span<const store::SqlTextFunction> sqlFunctions()
{
    return kFunctions;
}

Table tableOf(std::shared_ptr<const store::SqlResult> result)
{
    Table table;
    table.rows = result->rows();
    table.whyEmpty = "the statement has no rows";
    std::set<std::string> taken(result->columns.begin(), result->columns.end());
    std::set<std::string> used;
    for (std::size_t i = 0; i < result->columns.size(); ++i) {
        std::string key = result->columns[i];
        for (int number = 2; !used.insert(key).second; ++number) {
            std::string numbered = result->columns[i] + "_" + std::to_string(number);
            if (taken.insert(numbered).second)
                key = std::move(numbered);
        }
        table.columns.push_back({.key = key,
                                 .title = escapeForTerminal(key),
                                 .cell = [result, i](std::size_t row) { return sqlCell(result->at(row, i)); },
                                 .elidable = true,
                                 .keep = 2});
    }
    return table;
}

Table tableOf(std::shared_ptr<const std::vector<store::SqlSource>> sources)
{
    Table table;
    table.rows = sources->size();
    table.columns = {
        {.key = "name",
         .title = "name",
         .cell = [sources](std::size_t row) { return (*sources)[row].name; },
         .keep = 2},
        {.key = "kind",
         .title = "kind",
         .cell = [sources](std::size_t row) { return (*sources)[row].isView ? "view" : "table"; },
         .keep = 2},
        {.key = "columns",
         .title = "columns",
         .cell = [sources](std::size_t row) { return joined((*sources)[row].columns); },
         .keep = 2},
    };
    return table;
}

} // namespace tilescope::exchange
