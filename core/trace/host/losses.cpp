#include "core/trace/host/losses.h"

namespace tilescope::trace {

void Losses::add(RecordLoss kind, std::int64_t count, std::string_view addition)
{
    if (count == 0)
        return;
    const auto [entry, isNew] = entries_.try_emplace(kind, Entry{0, std::string(addition)});
    entry->second.count += count;
}

void Losses::add(const Losses& others)
{
    for (const auto& [kind, entry] : others.entries_)
        add(kind, entry.count, entry.addition);
}

std::int64_t Losses::count(RecordLoss kind) const
{
    const auto found = entries_.find(kind);
    return found == entries_.end() ? 0 : found->second.count;
}

std::vector<Loss> Losses::list(StringTable& strings) const
{
    std::vector<Loss> list;
    for (const auto& [kind, entry] : entries_)
        list.push_back(lossOf(strings, kind, entry.count, entry.addition));
    return list;
}

} // namespace tilescope::trace
