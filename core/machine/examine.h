#pragma once

#include "core/machine/machine.h"

#include <functional>
#include <optional>
#include <string_view>

namespace tilescope::machine {

// The parts of examine(), each about one part of the machine. Findings are appended in the order in which
// people should read them.

void examineHost(std::vector<Finding>& findings);     ///< C library, CPU, memory, load, governor
void examineDisk(std::vector<Finding>& findings);     ///< of the current folder
void examineGpu(std::vector<Finding>& findings);      ///< driver, each GPU, permission for counters, rivals
void examinePrograms(std::vector<Finding>& findings); ///< engine and its LibTorch, window

/// Profilers that run now or were asked for by the environment, and would hold what the tracer needs.
/// \param commands     names of running processes
/// \param environment  value of a variable, empty where it is unset
std::vector<std::string> rivalProfilers(const std::vector<std::string>& commands,
                                        const std::function<std::string(const char*)>& environment);

/// Whether the NVIDIA driver keeps hardware counters to administrators, from the text of
/// /proc/driver/nvidia/params; none where that does not tell.
std::optional<bool> countersAreRestricted(std::string_view params);

} // namespace tilescope::machine
