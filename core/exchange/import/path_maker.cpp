#include "core/exchange/import/path_maker.h"

#include "core/model/events.h"

#include <algorithm>
#include <string_view>

namespace tilescope::exchange {

PathMaker::PathMaker(StringTable& strings, RuleWork& work)
    : strings_(strings), work_(work), step_(strings.intern("step")),
      backward_(strings.intern("step/backward"))
{
}

StringId PathMaker::ofStep(std::int32_t step) const
{
    return step == kNoStep ? StringId{} : step_;
}

StringId PathMaker::child(StringId parent, StringId name)
{
    const std::string_view text = strings_.text(name);
    left_ += kPathBytesPerRange;
    if (name.value >= isNamed_.size())
        isNamed_.resize(std::max<std::size_t>(name.value + 1, 2 * isNamed_.size()));
    if (!isNamed_[name.value]) {
        isNamed_[name.value] = true;
        left_ += kPathBytesPerNameByte * static_cast<std::int64_t>(text.size());
    }
    const auto [place, isNew] =
        children_.try_emplace(std::uint64_t{parent.value} << 32 | name.value, StringId{});
    if (!isNew)
        return place->second;
    if (!mayAdd(strings_.text(parent).size() + 1 + text.size())) {
        children_.erase(place);
        ++shortened_;
        return parent;
    }
    std::string path(strings_.text(parent));
    if (!path.empty())
        path += '/';
    for (const char c : text)
        if (c == '/')
            path += "\u2215";
        else
            path += c;
    return place->second = strings_.intern(path);
}

bool PathMaker::mayAdd(std::size_t bytes)
{
    const auto size = static_cast<std::int64_t>(bytes);
    if (size > left_)
        return false;
    left_ -= size;
    work_.bytes += size;
    return true;
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
        if (!path.empty() && path != "step" && path != "forward" && mayAdd(path.size()))
            place->second = strings_.intern("step/backward/" + std::string(path));
    }
    return place->second;
}

} // namespace tilescope::exchange
