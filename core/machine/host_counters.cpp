#include "core/base/number_text.h"
#include "core/machine/counter_source.h"
#include "core/machine/process_tree.h"
#include "core/machine/small_file.h"
#include "core/model/thread_counter_names.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tilescope::machine {

namespace {

namespace fs = std::filesystem;

using Kind = SourceCounter::Kind;

constexpr double kHzPerKhz = 1e3;
constexpr SourceCounter kHostCounters[] = {
    {kCpuUseCounter, "%", Kind::Total, 100 / 1e9}, // of one processor, from nanoseconds of processor time
    {"Resident memory", "B", Kind::Level, 1},
    {"CPU clock", "Hz", Kind::Level, kHzPerKhz},
};

/// Files with the current clock of processors that the process may use. Only a sample of the processors,
/// because a read may interrupt the processor.
std::vector<fs::path> clockFiles(pid_t process)
{
    constexpr std::size_t kMost = 4;
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(process, sizeof allowed, &allowed) != 0)
        return {};
    std::vector<fs::path> files;
    std::error_code none;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        const fs::path file =
            "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq";
        if (fs::exists(file, none))
            files.push_back(file);
    }
    std::vector<fs::path> some;
    for (std::size_t i = 0; i < std::min(kMost, files.size()); ++i)
        some.push_back(files[i * files.size() / std::min(kMost, files.size())]);
    return some;
}

class HostCounters final : public CounterSource {
public:
    explicit HostCounters(pid_t process) : processes_(process), clockFiles_(clockFiles(process)) {}

    std::span<const SourceCounter> counters() const override { return kHostCounters; }

    void read(std::span<std::optional<std::uint64_t>> values) override
    {
        constexpr int kReadingsBetweenLooks = 10;
        if (readings_++ % kReadingsBetweenLooks == 0)
            processes_.look();
        values[0] = processes_.processorTime();
        values[1] = processes_.residentBytes();
        values[2] = meanKilohertz();
    }

private:
    std::optional<std::uint64_t> meanKilohertz() const
    {
        std::uint64_t sum = 0;
        for (const fs::path& file : clockFiles_) {
            const auto clock = parseNumber<std::uint64_t>(readFirstLine(file));
            if (!clock)
                return {};
            sum += *clock;
        }
        return clockFiles_.empty() ? std::nullopt : std::optional(sum / clockFiles_.size());
    }

    ProcessTree processes_;
    int readings_ = 0;
    const std::vector<fs::path> clockFiles_;
};

} // namespace

std::unique_ptr<CounterSource> hostCounters(pid_t process)
{
    return std::make_unique<HostCounters>(process);
}

} // namespace tilescope::machine
