#include "core/machine/counter_log.h"
#include "core/model/counter_track.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <thread>

namespace tilescope::machine {
namespace {

std::map<std::string, CounterTrack> readings(int gpu, int count)
{
    CounterLog log(gpuCounters(gpu), DeviceIndex{static_cast<std::int16_t>(gpu)});
    for (int i = 0; i < count; ++i) {
        log.read();
        std::this_thread::sleep_for(std::chrono::microseconds(50)); // times differ
    }
    std::map<std::string, CounterTrack> byName;
    for (CounterTrack& track : log.take())
        byName.emplace(track.name, std::move(track));
    return byName;
}

/// The growth that a rate stands for.
double growthOf(const CounterTrack& track, std::size_t point)
{
    const Timestamp end = point + 1 < track.points.size() ? track.points[point + 1].time : track.end;
    const double seconds = std::chrono::duration<double>(end - track.points[point].time).count();
    return static_cast<double>(track.points[point].value) / kPartsOfCounterUnit * seconds;
}

} // namespace

TEST(GpuCounters, AreThoseOfTheGpu)
{
    const auto tracks = readings(0, 3);
    EXPECT_EQ(tracks.at("SM clock").points[0].value, 1'980'000'000'000);
    EXPECT_EQ(tracks.at("SM clock").unit, "Hz");
    EXPECT_EQ(tracks.at("Memory clock").points[0].value, 2'619'000'000'000);
    EXPECT_EQ(tracks.at("Power").points[2].value, 412'345);
    EXPECT_EQ(tracks.at("Temperature").points[0].value, 61'000);
    EXPECT_EQ(tracks.at("GPU utilisation").points[0].value, 97'000);
    EXPECT_EQ(tracks.at("Memory utilisation").points[0].value, 34'000);
    EXPECT_NEAR(growthOf(tracks.at("PCIe received"), 0), 4096, 1) << "the count starts again at 0 here";
    EXPECT_NEAR(growthOf(tracks.at("PCIe received"), 1), 4096, 1);
    EXPECT_EQ(tracks.at("PCIe sent").points[0].value, 0);
    EXPECT_NEAR(growthOf(tracks.at("NVLink sent"), 0), 1024 * 1024, 1);
    EXPECT_EQ(tracks.at("Power cap").points[0].value, 0);
    for (const auto& [name, track] : tracks) {
        EXPECT_EQ(track.failed, 0) << name;
        EXPECT_EQ(track.device, DeviceIndex{0});
    }
}

TEST(GpuCounters, DoWithoutWhatAnOlderDriverLacks)
{
    const auto tracks = readings(1, 3);
    EXPECT_FALSE(tracks.contains("NVLink sent"));
    EXPECT_EQ(tracks.at("PCIe received").points[0].value, 200'000'000);
    EXPECT_EQ(tracks.at("PCIe sent").points[0].value, 300'000'000);
    EXPECT_EQ(tracks.at("Power").points.size(), 1U);
    EXPECT_EQ(tracks.at("Power").failed, 2);
    EXPECT_EQ(tracks.at("Power cap").points[2].value, 100'000);
    EXPECT_EQ(tracks.at("Thermal slowdown").points[2].value, 0);
}

TEST(GpuCounters, AreNoneOfAGpuThatIsNotThere)
{
    EXPECT_EQ(gpuCounters(7), nullptr);
}

} // namespace tilescope::machine
