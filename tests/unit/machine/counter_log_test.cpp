#include "core/machine/counter_log.h"

#include "core/analysis/stats/counter_figures.h"
#include "core/machine/counter_sampler.h"
#include "core/model/thread_counter_names.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <thread>
#include <vector>

namespace tilescope::machine {
namespace {

using Values = std::vector<std::optional<std::uint64_t>>;
using Kind = SourceCounter::Kind;

/// Gives one list of values after the other.
class Scripted final : public CounterSource {
public:
    Scripted(std::vector<SourceCounter> counters, std::deque<Values> script)
        : counters_(std::move(counters)), script_(std::move(script))
    {
    }
    std::span<const SourceCounter> counters() const override { return counters_; }
    void read(std::span<std::optional<std::uint64_t>> values) override
    {
        std::ranges::copy(script_.front(), values.begin());
        script_.pop_front();
        std::this_thread::sleep_for(std::chrono::microseconds(50)); // times differ
    }

private:
    std::vector<SourceCounter> counters_;
    std::deque<Values> script_;
};

/// A process with one thread that always has work, on one processor of this host, until it is destroyed.
class BusyProcess {
public:
    BusyProcess() : pid_(fork())
    {
        if (pid_ != 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cpu_set_t allowed;
        sched_getaffinity(0, sizeof allowed, &allowed);
        int first = 0;
        while (!CPU_ISSET(first, &allowed))
            ++first;
        CPU_ZERO(&allowed);
        CPU_SET(first, &allowed);
        sched_setaffinity(0, sizeof allowed, &allowed);
        for (volatile std::uint64_t work = 0;;)
            work = work + 1;
    }
    ~BusyProcess()
    {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    BusyProcess(const BusyProcess&) = delete;
    BusyProcess& operator=(const BusyProcess&) = delete;
    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

double meanOf(const std::vector<CounterTrack>& tracks, const char* name)
{
    const auto track = std::ranges::find(tracks, name, &CounterTrack::name);
    return track == tracks.end() ? -1 : analysis::figuresOf(*track)->mean;
}

std::vector<CounterTrack> tracksOf(std::vector<SourceCounter> counters, const std::deque<Values>& script)
{
    CounterLog log(std::make_unique<Scripted>(std::move(counters), script), DeviceIndex{3});
    for (std::size_t i = 0; i < script.size(); ++i)
        log.read();
    return log.take();
}

} // namespace

TEST(CounterLog, KeepsLevelsInTheirUnit)
{
    const auto tracks = tracksOf({{"SM clock", "Hz", Kind::Level, 1e6}}, {{1'980}, {1'980}, {1'755}});
    ASSERT_EQ(tracks.size(), 1U);
    EXPECT_EQ(tracks[0].name, "SM clock");
    EXPECT_EQ(tracks[0].device, DeviceIndex{3});
    ASSERT_EQ(tracks[0].points.size(), 3U);
    EXPECT_EQ(tracks[0].points[0].value, 1'980'000'000'000);
    EXPECT_EQ(tracks[0].points[2].value, 1'755'000'000'000);
    EXPECT_EQ(tracks[0].end, tracks[0].points[2].time);
}

TEST(CounterLog, MakesRatesOfTotals)
{
    const auto tracks = tracksOf({{"PCIe sent", "B/s", Kind::Total, 1}}, {{1'000}, {5'000}, {5'000}});
    ASSERT_EQ(tracks.size(), 1U);
    const CounterTrack& track = tracks[0];
    ASSERT_EQ(track.points.size(), 2U) << "a rate for each interval, at its beginning";
    const double seconds = std::chrono::duration<double>(track.points[1].time - track.points[0].time).count();
    EXPECT_NEAR(static_cast<double>(track.points[0].value), 4'000 / seconds * 1000, 1);
    EXPECT_EQ(track.points[1].value, 0);
    EXPECT_GT(track.end, track.points[1].time);
}

TEST(CounterLog, FollowsATotalOf32BitsPastItsEnd)
{
    const auto tracks = tracksOf({{"PCIe sent", "B/s", Kind::NarrowTotal, 1}}, {{0xFFFF'FFF0}, {0x10}});
    ASSERT_EQ(tracks.size(), 1U);
    const double seconds = std::chrono::duration<double>(tracks[0].end - tracks[0].points[0].time).count();
    EXPECT_NEAR(static_cast<double>(tracks[0].points[0].value), 32 / seconds * 1000, 1);
}

TEST(CounterLog, CountsFailedReadingsButNotCountersThatTheMachineLacks)
{
    const auto tracks = tracksOf(
        {{"Power", "W", Kind::Level, 1}, {"Absent", "W", Kind::Level, 1}, {"Reset", "B/s", Kind::Total, 1}},
        {{{5}, {}, {900}}, {{}, {}, {950}}, {{6}, {}, {10}}});
    ASSERT_EQ(tracks.size(), 2U);
    EXPECT_EQ(tracks[0].failed, 1);
    EXPECT_EQ(tracks[0].points.size(), 2U);
    EXPECT_EQ(tracks[1].name, "Reset");
    EXPECT_EQ(tracks[1].failed, 1) << "a total that falls has no rate";
    EXPECT_EQ(tracks[1].points.size(), 1U);
}

TEST(CounterSampler, ReadsThisProcessWhileItWorks)
{
    const Timestamp before = TraceClock::now();
    CounterSampler sampler({.interval = std::chrono::milliseconds(1)});
    // Long enough for some readings; how many depends on the machine.
    volatile std::uint64_t work = 0;
    while (TraceClock::now() - before < std::chrono::milliseconds(30))
        work = work + 1;
    const std::vector<CounterTrack> tracks = sampler.stop();
    const auto use = std::ranges::find(tracks, "CPU use", &CounterTrack::name);
    const auto memory = std::ranges::find(tracks, "Resident memory", &CounterTrack::name);
    ASSERT_NE(use, tracks.end());
    ASSERT_NE(memory, tracks.end());
    EXPECT_EQ(use->unit, "%");
    EXPECT_GT(std::ranges::max(use->points, {}, &CounterPoint::value).value, 0);
    EXPECT_GT(memory->points.front().value, 100'000 * 1'000) << "thousandths of bytes";
    for (const CounterTrack& track : tracks) {
        EXPECT_FALSE(track.device);
        EXPECT_EQ(track.failed, 0);
        EXPECT_TRUE(std::ranges::is_sorted(track.points, {}, &CounterPoint::time));
        EXPECT_GE(track.points.front().time, before);
        EXPECT_LE(track.points.back().time, track.end);
        EXPECT_LE(track.end, TraceClock::now());
    }
}

// A thread that always has work either runs or waits for a core, whatever else the host does.
TEST(CounterSampler, ReadsHowLongAThreadOfAnotherProcessWaitsForACore)
{
    if (!std::filesystem::exists("/proc/self/schedstat"))
        GTEST_SKIP() << "this kernel does not account for waiting threads";
    const BusyProcess busy;
    const BusyProcess rival;
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // both are on their processor
    CounterSampler sampler({.process = busy.pid()});
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    const std::vector<CounterTrack> tracks = sampler.stop();
    const double use = meanOf(tracks, kCpuUseCounter);
    const double ofOneThread = meanOf(tracks, kOneThreadCounter);
    const double waiting = meanOf(tracks, kWaitingCounter);
    EXPECT_NEAR(ofOneThread, use, 5);
    EXPECT_GE(waiting, 30) << "the rival has half of the processor";
    EXPECT_LE(waiting, 100);
    EXPECT_NEAR(meanOf(tracks, kSomeWaitingCounter), waiting, 1) << "of one thread";
    // What it waited for at the last reading is not counted yet.
    EXPECT_NEAR(ofOneThread + waiting, 100, 20);
}

TEST(CounterSampler, ReadsNoThreadsOfThisProcess)
{
    CounterSampler sampler({.interval = std::chrono::hours(1)});
    const std::vector<CounterTrack> tracks = sampler.stop();
    EXPECT_EQ(std::ranges::find(tracks, kWaitingCounter, &CounterTrack::name), tracks.end());
}

TEST(CounterSampler, EndsAtOnceWithTwoReadings)
{
    CounterSampler sampler({.interval = std::chrono::hours(1)});
    const std::vector<CounterTrack> tracks = sampler.stop();
    const auto memory = std::ranges::find(tracks, "Resident memory", &CounterTrack::name);
    ASSERT_NE(memory, tracks.end());
    EXPECT_EQ(memory->points.size(), 2U);
}

} // namespace tilescope::machine
