#pragma once

#include "core/model/run.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tilescope {

/// What a status means to a reader. Terminal, window and progress each have one colour for every value.
enum class StatusTone : std::uint8_t {
    Fine,
    Running,
    Absent,  ///< the run has no result, for a reason that is no fault
    Limited, ///< by memory
    Failed
};

struct StatusTraits {
    RunStatus status = RunStatus::Running;
    StatusTone tone = StatusTone::Running;
    std::string_view counted; ///< after a number: 2 `out of memory`
};

/// In the order of RunStatus.
inline constexpr std::array kStatusTraits{
    StatusTraits{RunStatus::Running, StatusTone::Running, "running"},
    StatusTraits{RunStatus::Ok, StatusTone::Fine, "ok"},
    StatusTraits{RunStatus::Oom, StatusTone::Limited, "out of memory"},
    StatusTraits{RunStatus::Skipped, StatusTone::Absent, "skipped"},
    StatusTraits{RunStatus::Error, StatusTone::Failed, "in error"},
    StatusTraits{RunStatus::Cancelled, StatusTone::Absent, "cancelled"},
    StatusTraits{RunStatus::Interrupted, StatusTone::Failed, "interrupted"}};

constexpr const StatusTraits& traitsOf(RunStatus status)
{
    return kStatusTraits[static_cast<std::size_t>(status)];
}

static_assert([] {
    for (std::size_t i = 0; i < kStatusTraits.size(); ++i)
        if (kStatusTraits[i].status != static_cast<RunStatus>(i))
            return false;
    return true;
}());

} // namespace tilescope
