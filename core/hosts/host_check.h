#pragma once

#include "core/hosts/bundle.h"
#include "core/hosts/ssh_link.h"
#include "core/machine/machine.h"

#include <array>
#include <functional>
#include <stop_token>

namespace tilescope::hosts {

/// The topics of the steps, in their order.
inline constexpr std::array<const char*, 7> kCheckTopics{"connection", "system",     "GPU",      "scheduler",
                                                         "LibTorch",   "free space", "Tilescope"};

/// Examines a host step by step: connection and key, system and C library, GPU and driver, scheduler, LibTorch, free
/// space, Tilescope there. Changes nothing there. A host that cannot be reached has only its first step.
/// \param onStep  called with each step as soon as it is known; words of the host are not escaped
/// \throws Stopped
void checkHost(SshLink& link, const Bundle& bundle,
               const std::function<void(const machine::Finding&)>& onStep, std::stop_token stop = {});

} // namespace tilescope::hosts
