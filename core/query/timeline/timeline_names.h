#pragma once

#include "core/base/ids.h"
#include "core/model/events.h"
#include "core/query/timeline/hue.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::query {

/// A name that boxes share.
struct TimelineName {
    std::string text;  ///< as recorded; a range's path
    std::string label; ///< short text for the box
};

/// An entry of Timeline::names and its hue.
struct NamedHue {
    std::uint32_t name = 0;
    Hue hue = Hue::Other;
};

/// The names of a timeline while it is built: each record's string becomes one entry with its label and hue, when it
/// is first needed. Copies are independent. One thread.
class TimelineNames {
public:
    using TextOf = std::function<std::string_view(StringId)>;
    /// Returns the short name and family of a device activity.
    struct DeviceName {
        std::string label;
        Hue hue = Hue::Other;
    };
    using DeviceNameOf = std::function<DeviceName(std::string_view name, DeviceEventKind kind)>;

    TimelineNames(TextOf textOf, DeviceNameOf deviceNameOf);

    // Every box asks for its name: known ones are found inline.
    NamedHue range(StringId path) { return known(ranges_, path, &TimelineNames::newRange); }
    NamedHue frame(StringId name) { return known(frames_, name, &TimelineNames::newFrame); }
    /// The same of a name that is not one of the file's strings.
    NamedHue frame(const std::string& name);
    /// A name with its hue, which depends on the name.
    NamedHue pause(const std::string& name, Hue hue);
    NamedHue op(StringId name) { return known(ops_, name, &TimelineNames::newOp); }
    NamedHue call(StringId name) { return known(calls_, name, &TimelineNames::newCall); }
    NamedHue device(StringId name, DeviceEventKind kind)
    {
        const NamedHue* const found = devices_[std::size_t(kind)].find(name);
        return found ? *found : newDevice(name, kind);
    }
    /// Being busy, or the reason for a gap.
    NamedHue state(Hue hue);

    std::string_view textOf(StringId id) const { return textOf_(id); }
    std::string_view text(std::uint32_t name) const { return names_[name].text; }

    /// Continues a list of names.
    void startFrom(std::vector<TimelineName> names) { names_ = std::move(names); }
    std::vector<TimelineName> take() && { return std::move(names_); }

private:
    // The names of one kind of record by string id; ids are dense.
    class Known {
    public:
        const NamedHue* find(StringId id) const
        {
            if (id && id.value < byId_.size() && byId_[id.value].name != kNone)
                return &byId_[id.value];
            return id || none_.name == kNone ? nullptr : &none_;
        }
        NamedHue put(StringId id, NamedHue name);

    private:
        static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
        std::vector<NamedHue> byId_;
        NamedHue none_{kNone, Hue::Other};
    };
    NamedHue known(Known& table, StringId id, NamedHue (TimelineNames::*make)(StringId))
    {
        const NamedHue* const found = table.find(id);
        return found ? *found : (this->*make)(id);
    }
    NamedHue newRange(StringId path);
    /// "train.py(96): step" is shown as step.
    NamedHue newFrame(StringId name);
    /// "aten::mm" is shown as mm, "autograd::engine::evaluate_function: X" as X.
    NamedHue newOp(StringId name);
    NamedHue newCall(StringId name);
    NamedHue newDevice(StringId name, DeviceEventKind kind);
    NamedHue add(TimelineName name, Hue hue);

    TextOf textOf_;
    DeviceNameOf deviceNameOf_;
    std::vector<TimelineName> names_;
    std::map<std::string, NamedHue> framesByText_;
    std::map<std::string, NamedHue> pauses_;
    Known ranges_, frames_, ops_, calls_;
    std::array<Known, 3> devices_; // by DeviceEventKind
    std::array<std::optional<NamedHue>, kHueCount> states_{};
};

} // namespace tilescope::query
