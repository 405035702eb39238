#include "core/base/units.h"
#include "core/machine/counter_source.h"
#include "core/machine/process_tree.h"
#include "core/model/thread_counter_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::machine {

namespace {

namespace fs = std::filesystem;

using Kind = SourceCounter::Kind;

constexpr double kPercentOfNs = 100 / 1e9;
constexpr SourceCounter kThreadCounters[] = {
    {kOneThreadCounter, "%", Kind::Total, kPercentOfNs},
    {kWaitingCounter, "%", Kind::Total, kPercentOfNs},
    {kSomeWaitingCounter, "%", Kind::Total, kPercentOfNs},
};

constexpr std::size_t kMostThreads = 2048; // the reading of more takes too long

/// Since a thread began, ns.
struct ThreadTime {
    std::uint64_t ran = 0;
    std::uint64_t waited = 0; ///< could run, and had no core; counted when it gets one
    std::uint64_t owed = 0;   ///< what it waited before the last readings, and they do not contain
};

/// The first two numbers of schedstat; none of a thread that has ended, or if the kernel does not count.
std::optional<ThreadTime> timeOf(const fs::path& thread)
{
    const int file = open((thread / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return {};
    std::array<char, 96> bytes{};
    const ssize_t size = ::read(file, bytes.data(), bytes.size());
    close(file);
    const char* const end = bytes.data() + std::max<ssize_t>(0, size);
    ThreadTime time;
    const auto ran = std::from_chars(bytes.data(), end, time.ran);
    if (ran.ec != std::errc() || ran.ptr == end)
        return {};
    if (std::from_chars(ran.ptr + 1, end, time.waited).ec != std::errc())
        return {};
    return time;
}

class ThreadCounters final : public CounterSource {
public:
    explicit ThreadCounters(pid_t process) : processes_(process) {}

    std::span<const SourceCounter> counters() const override { return kThreadCounters; }

    void read(std::span<std::optional<std::uint64_t>> values) override
    {
        processes_.look();
        const Timestamp at = TraceClock::now();
        const std::uint64_t processorTime = processes_.processorTime();
        std::unordered_map<std::string, ThreadTime> threads = timesOfThreads();
        if (threads.empty() || threads.size() > kMostThreads)
            return;
        const bool isFirst = threads_.empty();
        bool areKnown = true;
        if (!isFirst)
            areKnown = add(threads, at - readAt_, processorTime - processorTime_);
        threads_ = std::move(threads);
        readAt_ = at;
        processorTime_ = processorTime;
        if (!areKnown)
            return;
        values[0] = ofOneThread_;
        values[1] = waitedTold_;
        values[2] = someWaited_;
    }

private:
    std::unordered_map<std::string, ThreadTime> timesOfThreads() const
    {
        std::unordered_map<std::string, ThreadTime> times;
        for (const fs::path& process : processes_.folders()) {
            std::error_code ended; // a process may end meanwhile
            for (auto entry = fs::directory_iterator(process / "task", ended);
                 entry != fs::directory_iterator() && times.size() <= kMostThreads; entry.increment(ended))
                if (const auto time = timeOf(entry->path()))
                    times.emplace(entry->path().filename(), *time);
        }
        return times;
    }

    /// Adds what the threads did since the reading before.
    /// \param used  processor time of the processes in this time, ns
    /// \return      whether it is known: not if threads come and go between readings
    bool add(std::unordered_map<std::string, ThreadTime>& threads, Nanoseconds elapsed, std::uint64_t used)
    {
        constexpr std::uint64_t kIdle = 100;   // a hundredth of the time: nothing ran
        constexpr std::uint64_t kWorking = 10; // a tenth of what the busiest thread ran
        constexpr double kMostly = 0.8;
        const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(1, elapsed.count()));
        struct Growth {
            std::uint64_t ran = 0;
            std::uint64_t waited = 0;
            std::uint64_t waitedWithin = 0; ///< of it, what fits between the readings
        };
        std::vector<Growth> growths;
        std::uint64_t busiest = 0;
        std::uint64_t seen = 0;
        for (auto& [thread, now] : threads) {
            const auto found = threads_.find(thread);
            // A new thread began after the reading before.
            const ThreadTime before = found == threads_.end() ? ThreadTime{} : found->second;
            if (now.ran < before.ran || now.waited < before.waited)
                continue; // another thread with this number
            Growth growth{now.ran - before.ran, now.waited - before.waited};
            // A wait that began before the reading before is counted when it ends.
            growth.waitedWithin = std::min(before.owed + growth.waited, time);
            now.owed = before.owed + growth.waited - growth.waitedWithin;
            busiest = std::max(busiest, growth.ran);
            seen += growth.ran;
            growths.push_back(growth);
        }
        if (busiest * kIdle >= time) {
            ofOneThread_ += busiest;
            std::uint64_t longest = 0;
            double allHadCores = 1; // a share of the time
            for (const Growth& growth : growths) {
                if (growth.ran * kWorking < busiest)
                    continue;
                longest = std::max(longest, growth.waited);
                allHadCores *= 1 - static_cast<double>(growth.waitedWithin) / static_cast<double>(time);
            }
            waited_ += longest;
            someWaited_ += static_cast<std::uint64_t>((1 - allHadCores) * static_cast<double>(time));
        }
        // What began before the reading before is counted when it ends: no share of the time is above 1.
        waitedTold_ = std::min(waited_, waitedTold_ + time);
        return used * kIdle < time || static_cast<double>(seen) >= kMostly * static_cast<double>(used);
    }

    ProcessTree processes_;
    std::unordered_map<std::string, ThreadTime> threads_; ///< at the reading before, by number
    Timestamp readAt_{};
    std::uint64_t processorTime_ = 0;
    std::uint64_t ofOneThread_ = 0;
    std::uint64_t waited_ = 0;
    std::uint64_t waitedTold_ = 0;
    std::uint64_t someWaited_ = 0;
};

} // namespace

std::unique_ptr<CounterSource> threadCounters(pid_t process)
{
    return std::make_unique<ThreadCounters>(process);
}

} // namespace tilescope::machine
