#include "core/base/number_text.h"
#include "core/machine/counter_source.h"
#include "core/machine/small_file.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

namespace tilescope::machine {

namespace {

namespace fs = std::filesystem;

using Kind = SourceCounter::Kind;

constexpr double kHzPerKhz = 1e3;
constexpr SourceCounter kHostCounters[] = {
    {"CPU use", "%", Kind::Total, 100 / 1e9}, // of one processor, from nanoseconds of processor time
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

/// A process. If it is not this one, with its descendants.
class ProcessTree {
public:
    explicit ProcessTree(pid_t root) : isOwn_(root == 0) { add(isOwn_ ? getpid() : root); }

    /// Processor time of all members in nanoseconds, including members that have ended.
    std::uint64_t processorTime()
    {
        constexpr int kReadingsBetweenLooks = 10;
        if (!isOwn_ && readings_++ % kReadingsBetweenLooks == 0)
            look();
        std::uint64_t sum = 0;
        for (Member& member : members_) {
            timespec time{};
            clockid_t clock = CLOCK_PROCESS_CPUTIME_ID;
            if ((isOwn_ || clock_getcpuclockid(member.pid, &clock) == 0) && clock_gettime(clock, &time) == 0)
                member.time = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                              static_cast<std::uint64_t>(time.tv_nsec);
            sum += member.time;
        }
        return sum;
    }

    std::uint64_t residentBytes() const
    {
        std::uint64_t pages = 0;
        for (const Member& member : members_) {
            // The second number is the number of resident pages. A process that has ended has no file.
            std::istringstream text(readSmallFile(folderOf(member.pid) / "statm"));
            std::uint64_t size = 0;
            std::uint64_t resident = 0;
            if (text >> size >> resident)
                pages += resident;
        }
        return pages * pageBytes_;
    }

private:
    struct Member {
        pid_t pid = 0;
        std::uint64_t time = 0; ///< ns, when it was last read
    };

    static fs::path folderOf(pid_t pid) { return "/proc/" + std::to_string(pid); }

    void add(pid_t pid)
    {
        if (std::ranges::find(members_, pid, &Member::pid) == members_.end())
            members_.push_back({.pid = pid});
    }

    /// Adds the descendants of the members, through their main threads.
    void look()
    {
        constexpr std::size_t kMost = 256;
        for (std::size_t i = 0; i < members_.size() && members_.size() < kMost; ++i) {
            const pid_t pid = members_[i].pid;
            std::istringstream text(readSmallFile(folderOf(pid) / "task" / std::to_string(pid) / "children"));
            for (pid_t child = 0; text >> child;)
                add(child);
        }
    }

    const bool isOwn_;
    const std::uint64_t pageBytes_ = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    int readings_ = 0;
    std::vector<Member> members_; ///< the root first
};

class HostCounters final : public CounterSource {
public:
    explicit HostCounters(pid_t process) : processes_(process), clockFiles_(clockFiles(process)) {}

    std::span<const SourceCounter> counters() const override { return kHostCounters; }

    void read(std::span<std::optional<std::uint64_t>> values) override
    {
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
    const std::vector<fs::path> clockFiles_;
};

} // namespace

std::unique_ptr<CounterSource> hostCounters(pid_t process)
{
    return std::make_unique<HostCounters>(process);
}

} // namespace tilescope::machine
