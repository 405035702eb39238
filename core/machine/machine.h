#pragma once

#include "core/model/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::machine {

/// Facts about the host that can change a result: CPU model, cores, affinity, governor, load, memory, OS,
/// kernel, container, and the environment variables that matter. Cheap; any thread.
std::vector<EnvironmentEntry> hostEnvironment();

/// The environment variables that can change a result; hostEnvironment() tells those that are set, as
/// `env.NAME`.
std::span<const char* const> variablesThatMatter();

/// What NVML tells of a GPU (name, memory, clocks, power limit, throttle reasons, MIG, other processes);
/// empty where there is no NVML or no such GPU. Keys end in `.before` or `.after` for what changes during a
/// run. Any thread.
enum class Moment { Before, After };
std::vector<EnvironmentEntry> gpuEnvironment(int index, Moment moment);

/// Bytes of a GPU that this process has, context and libraries with it, by NVML's word; none where it does
/// not tell: no NVML, or a container whose process numbers are its own. Any thread.
std::optional<std::int64_t> processMemory(int index);

/// One thing that doctor looked at.
struct Finding {
    enum class Verdict { Ok, Note, Missing } verdict = Verdict::Ok;
    std::string topic;   ///< GPU, driver, LibTorch, counters, disk, …
    std::string finding; ///< what was found
    std::string remedy;  ///< how to mend it; empty when ok
};

/// Everything `tilescope doctor` prints, in order.
std::vector<Finding> examine();

} // namespace tilescope::machine
