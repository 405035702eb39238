#include "core/model/strings.h"

namespace tilescope {

StringId StringTable::intern(std::string_view text)
{
    const MutexLock lock(mutex_);
    if (const auto found = ids_.find(text); found != ids_.end())
        return found->second;
    const StringId id{static_cast<std::uint32_t>(strings_.size())};
    ids_.emplace(strings_.emplace_back(text), id);
    return id;
}

std::string_view StringTable::text(StringId id) const
{
    const MutexLock lock(mutex_);
    return id ? std::string_view(strings_.at(id.value)) : std::string_view{};
}

std::size_t StringTable::size() const
{
    const MutexLock lock(mutex_);
    return strings_.size();
}

} // namespace tilescope
