#include "core/model/flags.h"

#include <algorithm>
#include <iterator>

namespace tilescope {

namespace {

constexpr bool flagsAreInOrder()
{
    for (std::size_t i = 0; i < std::size(kFlags); ++i)
        if (static_cast<std::size_t>(kFlags[i].kind) != i)
            return false;
    return true;
}
static_assert(flagsAreInOrder(), "a flag is found by its kind");

std::string_view detailOf(std::string_view text)
{
    std::string_view detail = text.substr(flagName(text).size());
    while (!detail.empty() && (detail.front() == ':' || detail.front() == ' '))
        detail.remove_prefix(1);
    return detail;
}

} // namespace

const FlagInfo& infoOf(FlagKind kind)
{
    return kFlags[static_cast<std::size_t>(kind)];
}

std::string_view flagName(std::string_view text)
{
    return text.substr(0, text.find(':'));
}

const FlagInfo* findFlag(std::string_view text)
{
    const auto* found = std::ranges::find(kFlags, flagName(text), &FlagInfo::name);
    return found == std::end(kFlags) ? nullptr : found;
}

std::string flagText(FlagKind kind, std::string_view detail)
{
    std::string text(infoOf(kind).name);
    return detail.empty() ? text : text.append(": ").append(detail);
}

std::string describeFlag(std::string_view text)
{
    const FlagInfo* info = findFlag(text);
    if (info == nullptr)
        return std::string(text);
    const std::string_view detail = detailOf(text);
    std::string sentence(info->sentence);
    return detail.empty() ? sentence : sentence.append(" (").append(detail).append(")");
}

bool hasFlag(std::span<const std::string> flags, FlagKind kind)
{
    return std::ranges::any_of(flags,
                               [&](const std::string& flag) { return findFlag(flag) == &infoOf(kind); });
}

} // namespace tilescope
