#include "core/exchange/import/path_maker.h"

#include "core/model/events.h"

#include <string_view>

namespace tilescope::exchange {

PathMaker::PathMaker(StringTable& strings)
    : strings_(strings), step_(strings.intern("step")), backward_(strings.intern("step/backward"))
{
}

StringId PathMaker::ofStep(std::int32_t step) const
{
    return step == kNoStep ? StringId{} : step_;
}

StringId PathMaker::child(StringId parent, StringId name)
{
    const auto [place, isNew] =
        children_.try_emplace(std::uint64_t{parent.value} << 32 | name.value, StringId{});
    if (!isNew)
        return place->second;
    std::string path(strings_.text(parent));
    if (!path.empty())
        path += '/';
    for (const char c : strings_.text(name))
        if (c == '/')
            path += "\u2215";
        else
            path += c;
    return place->second = strings_.intern(path);
}

std::uint64_t PathMaker::keyOf(ProcessIndex process, std::int64_t sequence)
{
    constexpr int kSequenceBits = 44;
    return static_cast<std::uint64_t>(process.value) << kSequenceBits | static_cast<std::uint64_t>(sequence);
}

void PathMaker::noteForward(ProcessIndex process, std::int64_t sequence, StringId path)
{
    if (sequence >= 0)
        forwards_.insert_or_assign(keyOf(process, sequence), path);
}

StringId PathMaker::ofBackward(ProcessIndex process, std::int64_t sequence)
{
    const auto forward = sequence < 0 ? forwards_.end() : forwards_.find(keyOf(process, sequence));
    if (forward == forwards_.end())
        return backward_;
    const auto [place, isNew] = backwards_.try_emplace(forward->second.value, backward_);
    if (isNew) {
        std::string_view path = strings_.text(forward->second);
        for (const std::string_view prefix : {"step/", "forward/"})
            if (path.starts_with(prefix))
                path.remove_prefix(prefix.size());
        if (!path.empty() && path != "step" && path != "forward")
            place->second = strings_.intern("step/backward/" + std::string(path));
    }
    return place->second;
}

} // namespace tilescope::exchange
