#include "core/trace/host/losses.h"

namespace tilescope::trace {

void Losses::add(std::string_view kind, LossSeverity severity, std::int64_t count, std::string_view detail)
{
    if (count == 0)
        return;
    const auto [entry, isNew] =
        entries_.try_emplace(std::string(kind), Entry{severity, 0, std::string(detail)});
    entry->second.count += count;
}

void Losses::add(const Losses& others)
{
    for (const auto& [kind, entry] : others.entries_)
        add(kind, entry.severity, entry.count, entry.detail);
}

std::int64_t Losses::count(std::string_view kind) const
{
    const auto found = entries_.find(kind);
    return found == entries_.end() ? 0 : found->second.count;
}

std::vector<Loss> Losses::list(StringTable& strings) const
{
    std::vector<Loss> list;
    for (const auto& [kind, entry] : entries_) {
        list.push_back({.kind = strings.intern(kind),
                        .severity = entry.severity,
                        .count = entry.count,
                        .detail = entry.detail.empty() ? StringId::none() : strings.intern(entry.detail)});
    }
    return list;
}

} // namespace tilescope::trace
