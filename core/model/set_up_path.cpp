#include "core/model/set_up_path.h"

#include "core/model/text.h"

namespace tilescope {

std::string setUpComponent(MemoryCategory category, std::string_view name)
{
    return std::string(wordOf(category)) + '/' + std::string(name);
}

std::optional<SetUpTensor> setUpTensor(std::string_view path)
{
    if (!path.starts_with(kSetUpRange) || !path.substr(kSetUpRange.size()).starts_with('/'))
        return {};
    path.remove_prefix(kSetUpRange.size() + 1);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos)
        return {};
    const auto category = fromWord<MemoryCategory>(path.substr(0, slash));
    if (!category)
        return {};
    return SetUpTensor{*category, path.substr(slash + 1)};
}

} // namespace tilescope
