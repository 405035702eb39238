// Profiles of JAX become runs.

#include "tests/unit/exchange/nsys_fixture.h"

#include <gmock/gmock.h>

namespace tilescope::exchange {

using ::testing::HasSubstr;
using ::testing::SizeIs;

namespace {

std::string varint(std::uint64_t value)
{
    std::string bytes;
    for (; value >= 128; value >>= 7)
        bytes += static_cast<char>(value | 128);
    return bytes + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value)
{
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string text(int field, const std::string& value)
{
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}
/// An entry of event_metadata (4) or stat_metadata (5).
std::string name(int field, std::uint64_t key, const std::string& value)
{
    return text(field, number(1, key) + text(2, number(1, key) + text(2, value)));
}
std::string event(std::uint64_t key, std::uint64_t offsetPs, std::uint64_t durationPs,
                  const std::string& stats)
{
    return text(4, number(1, key) + number(2, offsetPs) + number(3, durationPs) + stats);
}
std::string intStat(std::uint64_t key, std::uint64_t value)
{
    return text(4, number(1, key) + number(3, value));
}
std::string refStat(std::uint64_t key, std::uint64_t value)
{
    return text(4, number(1, key) + number(7, value));
}

/// One kernel on stream 2 of GPU 0, launched by a thread in a step; a copy, and a line that XLA derives.
std::string smallProfile()
{
    const std::string stats = name(5, 1, "correlation_id") + name(5, 2, "kernel_details") +
                              name(5, 3,
                                   " regs:40 static_shared:16 dynamic_shared:2048 grid:32,16,2 block:256,1,1 "
                                   "occ_pct:100") +
                              name(5, 4, "hlo_op") + name(5, 5, "loop_fusion.3") + name(5, 6, "step_num") +
                              name(5, 7, "memcpy_details") + name(5, 8, "kind_src:pinned size:4096 async:1");
    const std::string stream = number(1, 2) + text(2, "Stream #2") + number(3, 1000) +
                               event(1, 500'000, 40'999, intStat(1, 5) + refStat(2, 3) + refStat(4, 5)) +
                               event(2, 700'000, 10'000, refStat(7, 8));
    const std::string derived = number(1, 9) + text(2, "XLA Ops") + event(1, 500'000, 40'999, "");
    const std::string device = text(2, "/device:GPU:0") + text(3, stream) + text(3, derived) +
                               name(4, 1, "loop_fusion_3") + name(4, 2, "MemcpyH2D") + stats;
    const std::string thread = number(1, 77) + text(2, "python3") + number(3, 900) +
                               event(3, 0, 900'000, intStat(6, 4)) +
                               event(4, 100'000, 10'000, intStat(1, 5) + refStat(4, 5)) +
                               event(5, 50'000, 800'000, "") + event(6, 1'000, 0, "");
    const std::string host = text(2, "/host:CPU") + text(3, thread) + name(4, 3, "train") +
                             name(4, 4, "cuLaunchKernel") + name(4, 5, "$train.py:9 step") +
                             name(4, 6, "instant") + stats;
    return text(1, device) + text(1, host) + text(4, "node7");
}

} // namespace

class Xplane : public Nsys {
protected:
    ImportedRun importedBytes(const std::string& bytes)
    {
        const std::filesystem::path file = folder_ / "host.xplane.pb";
        std::ofstream(file, std::ios::binary) << bytes;
        const std::filesystem::path output = folder_ / ("x" + std::to_string(++count_) + ".tscope");
        const std::vector<std::filesystem::path> inputs{file};
        return {output, importFiles(inputs, output)};
    }

private:
    int count_ = 0;
};

TEST_F(Xplane, ReadsStreamsThreadsAndSteps)
{
    const ImportedRun run = importedBytes(smallProfile());
    const DeviceEvent* kernel = run.activity("loop_fusion_3");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ((kernel->end - kernel->start).count(), 40) << "picoseconds are cut to nanoseconds";
    EXPECT_EQ(kernel->launch.grid, (std::array<std::uint32_t, 3>{32, 16, 2}));
    EXPECT_EQ(kernel->launch.block, (std::array<std::uint32_t, 3>{256, 1, 1}));
    EXPECT_EQ(kernel->launch.registersPerThread, 40U);
    EXPECT_EQ(kernel->launch.staticShared, 16U);
    EXPECT_EQ(kernel->launch.dynamicShared, 2048U);
    EXPECT_TRUE(kernel->op) << "launched by its HLO op";
    const DeviceEvent* copy = run.activity("MemcpyH2D");
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->kind, DeviceEventKind::Memcpy);
    EXPECT_EQ(copy->copy, CopyKind::HostToDevice);
    EXPECT_EQ(copy->bytes, 4096);
    EXPECT_THAT(run.activities, SizeIs(2)) << "derived lines repeat what the streams have";
    ASSERT_THAT(run.ops, SizeIs(1));
    EXPECT_EQ(run.text(run.ops.front().name), "loop_fusion.3");
    EXPECT_THAT(run.calls, SizeIs(1));
    EXPECT_EQ(run.loss("source_not_stored"), 2) << "the derived event and the instant";
    EXPECT_THAT(run.summary, HasSubstr("host.xplane.pb: 1 kernel, 1 range"));
    ASSERT_THAT(run.topology.processes, SizeIs(1));
    EXPECT_EQ(run.topology.processes.front().host, "node7");
}

TEST_F(Xplane, EventsOfAGpuWithoutANumberAreLostAndCounted)
{
    std::string profile = smallProfile();
    profile.replace(profile.find("/device:GPU:0"), 13, "/device:GPU:x");
    const ImportedRun run = importedBytes(profile);
    EXPECT_THAT(run.activities, SizeIs(0));
    EXPECT_EQ(run.loss("source_unreadable"), 3);
}

TEST_F(Xplane, CutOffAtAnyByteIsAResultOrAnError)
{
    const std::string whole = smallProfile();
    int refused = 0;
    for (std::size_t length = 1; length < whole.size(); length += 23) {
        try {
            importedBytes(whole.substr(0, length));
        } catch (const Error& error) {
            ++refused;
            EXPECT_NE(error.sentence(), "");
        }
    }
    EXPECT_GT(refused, 10);
}

} // namespace tilescope::exchange
