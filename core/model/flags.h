#pragma once

#include "core/model/events.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope {

/// What makes a run's figures doubtful or incomplete. Stored with the run as `name` or `name: detail`.
enum class FlagKind : std::uint8_t {
    WarmUpTooShort,
    Unsteady,
    Drift,
    Throttled,
    ClockChanged,
    BusyHost,
    MemoryGrows,
    Untraced,
    CountersNotRecorded,
    InsideNotRecorded,
    SavedUnread,
    OomNotSeen,
    DeviceLost,
    DevelopmentBuild,
    SmallKernelSet,
    RankLost,
    DeviceNotRead,
};

struct FlagInfo {
    FlagKind kind;
    std::string_view name;     ///< in files; never changes
    LossSeverity severity;     ///< Info: the figures are valid; Warning: they are doubtful; Error: they are
                               ///< missing
    std::string_view sentence; ///< without the full stop, for people
};

/// Every flag that there is, in the order of FlagKind. Nothing else is stored.
inline constexpr FlagInfo kFlags[] = {
    {FlagKind::WarmUpTooShort, "warm-up-too-short", LossSeverity::Warning,
     "The step times had not settled when timing began"},
    {FlagKind::Unsteady, "unsteady", LossSeverity::Warning, "The step times never settled"},
    {FlagKind::Drift, "drift", LossSeverity::Warning, "The step time drifted during the timed steps"},
    {FlagKind::Throttled, "throttled", LossSeverity::Warning,
     "The GPU reduced its clocks during the timed steps"},
    {FlagKind::ClockChanged, "clock-changed", LossSeverity::Warning,
     "The GPU's clock changed during the timed steps"},
    {FlagKind::BusyHost, "busy-host", LossSeverity::Warning,
     "Other programs used the CPU during the timed steps"},
    {FlagKind::MemoryGrows, "memory-grows", LossSeverity::Warning,
     "Each traced step left more memory allocated than the one before"},
    {FlagKind::Untraced, "untraced", LossSeverity::Warning, "The GPU's activities could not be traced"},
    {FlagKind::CountersNotRecorded, "counters-not-recorded", LossSeverity::Warning,
     "The requested hardware counters were not recorded"},
    {FlagKind::InsideNotRecorded, "inside-not-recorded", LossSeverity::Warning,
     "The inside of kernels was not recorded, or not all of it"},
    {FlagKind::SavedUnread, "saved-unread", LossSeverity::Warning,
     "Some of the tensors that backward needs could not be listed"},
    {FlagKind::OomNotSeen, "oom-not-seen", LossSeverity::Warning,
     "The recorded repetition did not run out of memory"},
    {FlagKind::DeviceLost, "device-lost", LossSeverity::Error, "The device failed during the run"},
    {FlagKind::DevelopmentBuild, "debug-build", LossSeverity::Info,
     "Made by a development build: the program's own code is not fully optimised"},
    {FlagKind::SmallKernelSet, "small-kernel-set", LossSeverity::Warning,
     "The build has only some of Tilescope's CUDA kernels: others may be faster on this GPU"},
    {FlagKind::RankLost, "rank-lost", LossSeverity::Error, "Another rank did not take part in a collective"},
    {FlagKind::DeviceNotRead, "device-not-read", LossSeverity::Error,
     "Events of devices that Tilescope does not read are missing"},
};

const FlagInfo& infoOf(FlagKind kind);

/// The flag that a stored text begins with; null for a name that this version does not know.
const FlagInfo* findFlag(std::string_view text);

/// `drift: +2.1 % over the timed steps`, as a run stores it.
std::string flagText(FlagKind kind, std::string_view detail = {});

/// The name of a stored flag: the text before the colon.
std::string_view flagName(std::string_view text);

/// A stored flag as displayed: "The step time drifted during the timed steps (+2.1 % over the timed steps)".
/// Unknown names are returned unchanged.
std::string describeFlag(std::string_view text);

bool hasFlag(std::span<const std::string> flags, FlagKind kind);

} // namespace tilescope
