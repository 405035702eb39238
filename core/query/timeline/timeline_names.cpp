#include "core/query/timeline/timeline_names.h"

#include "core/model/autograd_op.h"

#include <algorithm>
#include <utility>

namespace tilescope::query {

namespace {

std::string labelOfOp(std::string_view name)
{
    name = withoutEvaluation(name);
    if (name.starts_with("aten::"))
        name.remove_prefix(6);
    return std::string(name);
}

std::string labelOfFrame(std::string_view name)
{
    const std::size_t place = name.find("): ");
    return std::string(place == std::string_view::npos ? name : name.substr(place + 3));
}

std::string lastComponent(std::string_view path)
{
    return std::string(path.substr(path.rfind('/') + 1));
}

} // namespace

NamedHue TimelineNames::Known::put(StringId id, NamedHue name)
{
    if (!id)
        return none_ = name;
    if (id.value >= byId_.size())
        byId_.resize(std::max<std::size_t>(id.value + 1, 2 * byId_.size()), {kNone, Hue::Other});
    return byId_[id.value] = name;
}

TimelineNames::TimelineNames(TextOf textOf, DeviceNameOf deviceNameOf)
    : textOf_(std::move(textOf)), deviceNameOf_(std::move(deviceNameOf))
{
}

NamedHue TimelineNames::add(TimelineName name, Hue hue)
{
    names_.push_back(std::move(name));
    return {std::uint32_t(names_.size() - 1), hue};
}

NamedHue TimelineNames::newRange(StringId path)
{
    const std::string_view text = textOf_(path);
    return ranges_.put(path, add({std::string(text), lastComponent(text)}, hueOfRange(text)));
}

NamedHue TimelineNames::newFrame(StringId name)
{
    const std::string_view text = textOf_(name);
    return frames_.put(name, add({std::string(text), labelOfFrame(text)}, hueOfFrame(text)));
}

NamedHue TimelineNames::frame(const std::string& name)
{
    const auto [known, isNew] = framesByText_.try_emplace(name);
    if (isNew)
        known->second = add({name, labelOfFrame(name)}, hueOfFrame(name));
    return known->second;
}

NamedHue TimelineNames::pause(const std::string& name, Hue hue)
{
    const auto [known, isNew] = pauses_.try_emplace(name);
    if (isNew)
        known->second = add({name, name}, hue);
    return known->second;
}

NamedHue TimelineNames::newOp(StringId name)
{
    const std::string_view text = textOf_(name);
    return ops_.put(name, add({std::string(text), labelOfOp(text)}, hueOfOp(text)));
}

NamedHue TimelineNames::newCall(StringId name)
{
    const std::string_view text = textOf_(name);
    return calls_.put(name, add({std::string(text), std::string(text)}, Hue::Api));
}

NamedHue TimelineNames::newDevice(StringId name, DeviceEventKind kind)
{
    const std::string_view text = textOf_(name);
    DeviceName device = deviceNameOf_(text, kind);
    return devices_[std::size_t(kind)].put(name,
                                           add({std::string(text), std::move(device.label)}, device.hue));
}

NamedHue TimelineNames::state(Hue hue)
{
    std::optional<NamedHue>& known = states_[std::size_t(hue)];
    if (!known)
        known = add({std::string(hueWord(hue)), std::string(hueWord(hue))}, hue);
    return *known;
}

} // namespace tilescope::query
