#include "core/exchange/memory/memory_columns.h"

#include "core/analysis/time/path_glob.h"
#include "core/query/memory/memory_groups.h"

namespace tilescope::exchange {

std::string nameOf(const query::MemoryHistory& history, const query::MemoryLife& block,
                   const query::MemoryOps* ops)
{
    if (block.name != 0)
        return std::string(history.text(block.name));
    if (block.isOlder())
        return std::string(wordOf(block.category));
    const std::string_view path = history.text(block.path);
    std::string name = stackName(path);
    if (name.empty())
        name = moduleOf(history, block);
    if (name.empty())
        name = analysis::belowStep(path);
    std::string_view op = opOf(history, block, ops);
    if (op.starts_with("aten::"))
        op.remove_prefix(6);
    if (!op.empty())
        name.append(name.empty() ? "" : " ").append(op);
    return name.empty() ? std::string(wordOf(block.category)) : name;
}

} // namespace tilescope::exchange
