#pragma once

#include "core/model/run.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::machine {

/// Facts about the host that can affect a result: CPU model, cores, affinity, governor, load, memory, OS,
/// kernel, container and relevant environment variables. Cheap; any thread.
std::vector<EnvironmentEntry> hostEnvironment();

/// Environment variables that can affect a result. hostEnvironment() lists those that are set as `env.NAME`.
std::span<const char* const> variablesThatMatter();

/// NVML's facts about a GPU (name, memory, clocks, power limit, throttle reasons, MIG, other processes);
/// empty without NVML or such a GPU. Keys of values that change during a run end in `.before` or `.after`.
/// Any thread.
enum class Moment { Before, After };
std::vector<EnvironmentEntry> gpuEnvironment(int index, Moment moment);

/// GPU memory of this process in bytes, including context and libraries, as NVML reports it. None without
/// NVML, or in a container with its own process numbers. Any thread.
std::optional<std::int64_t> processMemory(int index);

/// One finding of `tilescope doctor`.
struct Finding {
    enum class Verdict { Ok, Note, Missing } verdict = Verdict::Ok;
    std::string topic;   ///< GPU, driver, LibTorch, counters, disk, …
    std::string finding; ///< what was found
    std::string remedy;  ///< how to fix it; empty if ok
};

/// All findings of `tilescope doctor`, in the order of its output.
std::vector<Finding> examine();

} // namespace tilescope::machine
