// Parts of answers that another thread reads.

#include "core/query/runs/side_reading.h"

#include "core/query/runs/run_tables.h"
#include "core/store/run_writer.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <thread>

namespace tilescope::query {
namespace {

constexpr int kFew = 100;
constexpr int kReadAside = 200'001; // are read on another thread

const std::function<bool()> kNever = [] { return false; };

class SideReadingTest : public ::testing::Test {
protected:
    store::RunReader fileOf(int ranges)
    {
        StringTable strings;
        store::RunWriter writer(file_, strings);
        const Timestamp origin = TraceClock::now();
        store::RunHeader header{"test", "lm", "{}", "hash", "test"};
        header.clockOrigin = origin;
        writer.beginRun(header);
        TraceBatch batch;
        for (int i = 0; i < ranges; ++i) {
            Range range{.id = RangeId{static_cast<std::uint32_t>(i)},
                        .path = strings.intern("step/forward"),
                        .thread = ThreadId{1}};
            range.start = origin + Nanoseconds(10 * i);
            range.end = range.start + Nanoseconds(5);
            batch.ranges.push_back(range);
        }
        writer.write(batch);
        writer.endRun({});
        return store::RunReader(file_);
    }

    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "side.tscope";
};

TEST_F(SideReadingTest, ReadsTheSameRunOnAnotherThreadOnlyIfItIsLarge)
{
    for (const int ranges : {kFew, kReadAside}) {
        const store::RunReader reader = fileOf(ranges);
        const store::RunRecord run = chooseRun(reader, {});
        std::thread::id thread;
        SideReading<std::int64_t> reading(reader, run, kNever,
                                          [&](const store::RunReader& own, const std::function<bool()>&) {
                                              thread = std::this_thread::get_id();
                                              std::int64_t found = 0;
                                              own.eachRange({.run = run.run}, [&found](const Range&) {
                                                  ++found;
                                                  return true;
                                              });
                                              return found;
                                          });
        EXPECT_EQ(reading.take(), ranges);
        EXPECT_EQ(thread == std::this_thread::get_id(), ranges == kFew);
        std::filesystem::remove(file_);
    }
}

TEST_F(SideReadingTest, EndsEarlyIfCancelled)
{
    for (const int ranges : {kFew, kReadAside}) {
        const store::RunReader reader = fileOf(ranges);
        const std::function<bool()> always = [] { return true; };
        SideReading<bool> reading(reader, chooseRun(reader, {}), always,
                                  [](const store::RunReader&, const std::function<bool()>& cancelled) {
                                      while (!cancelled())
                                          std::this_thread::yield();
                                      return true;
                                  });
        EXPECT_TRUE(reading.take());
        std::filesystem::remove(file_);
    }
}

TEST_F(SideReadingTest, PassesOnWhatTheWorkThrows)
{
    for (const int ranges : {kFew, kReadAside}) {
        const store::RunReader reader = fileOf(ranges);
        SideReading<int> reading(reader, chooseRun(reader, {}), kNever,
                                 [](const store::RunReader&, const std::function<bool()>&) -> int {
                                     throw std::runtime_error("damaged");
                                 });
        EXPECT_THROW(reading.take(), std::runtime_error);
        std::filesystem::remove(file_);
    }
}

TEST_F(SideReadingTest, StopsWorkWhoseResultNobodyTakes)
{
    const store::RunReader reader = fileOf(kReadAside);
    std::atomic<bool> hasEnded = false;
    {
        const SideReading<int> reading(reader, chooseRun(reader, {}), kNever,
                                       [&](const store::RunReader&, const std::function<bool()>& cancelled) {
                                           while (!cancelled())
                                               std::this_thread::yield();
                                           hasEnded = true;
                                           return 0;
                                       });
    }
    EXPECT_TRUE(hasEnded);
}

} // namespace
} // namespace tilescope::query
