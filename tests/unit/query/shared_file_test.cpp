// A file that is open while other processes write it: on a local disk, and on a network disk through
// snapshots.

#include "core/query/shared_file.h"

#include "core/base/error.h"
#include "core/query/timeline/timeline_reader.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/not_cancelled.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/store/child.h"

#include <gtest/gtest.h>

#include <thread>

namespace tilescope::query {
namespace {

namespace fs = std::filesystem;

class SharedFileTest : public ::testing::Test {
protected:
    /// `count` kernels on two streams, with an op for each.
    void write(store::RunWriter& writer, std::uint32_t count)
    {
        TraceBatch batch;
        for (std::uint32_t i = 0; i < count; ++i, ++written_) {
            const Timestamp start = origin_ + Nanoseconds(1'000LL * written_);
            Op op;
            op.id = OpId{written_};
            op.thread = ThreadId{11};
            op.name = strings_.intern("aten::mm");
            op.start = start;
            op.end = start + Nanoseconds(500);
            batch.ops.push_back(op);
            DeviceEvent kernel;
            kernel.name = strings_.intern("gemm_" + std::to_string(written_ % 3));
            kernel.device = DeviceIndex{0};
            kernel.stream = StreamId{7 + written_ % 2};
            kernel.start = start + Nanoseconds(100);
            kernel.end = start + Nanoseconds(900);
            batch.deviceEvents.push_back(kernel);
        }
        const Sample sample{
            std::int32_t(written_), SampleKind::Measure, Phase::Step, Nanoseconds(1'000'000), {}};
        writer.writeSamples({&sample, 1});
        writer.write(batch);
        writer.commit();
    }

    void begin(store::RunWriter& writer)
    {
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        written_ = 0;
        origin_ = TraceClock::now();
    }

    static std::size_t kernelsOf(const Timeline& timeline)
    {
        std::size_t kernels = 0;
        for (const Lane& lane : timeline.lanes)
            if (lane.kind == Lane::Kind::Stream)
                kernels += lane.events();
        return kernels;
    }

    std::size_t kernelsOf(SharedFile& shared, std::int64_t run = 1)
    {
        return kernelsOf(*shared.timeline(RunId{run}, testing::kNotCancelled));
    }

    tilescope::testing::TemporaryFolder folder_;
    fs::path file_ = folder_ / "run.tscope";
    StringTable strings_;
    std::uint32_t written_ = 0;
    Timestamp origin_{};
};

TEST_F(SharedFileTest, ALookReportsChangesOnly)
{
    store::RunWriter writer(file_, strings_);
    begin(writer);
    write(writer, 10);
    SharedFile shared(file_);
    const auto first = shared.look();
    ASSERT_TRUE(first);
    ASSERT_EQ(first->runs.size(), 1u);
    EXPECT_EQ(first->runs[0].result.status, RunStatus::Running);
    EXPECT_EQ(shared.look(), nullptr) << "nothing was written meanwhile";
    write(writer, 10);
    const auto second = shared.look();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->runs[0].step->n, 2) << "samples of a running run are read again";
    writer.endRun({});
    const auto third = shared.look();
    ASSERT_TRUE(third);
    EXPECT_EQ(third->runs[0].result.status, RunStatus::Ok);
    EXPECT_EQ(third->runs[0].step->n, 2);
}

TEST_F(SharedFileTest, ChangesOfALinksTargetAreDetected)
{
    fs::create_directory(folder_ / "links");
    const fs::path link = folder_ / "links" / "latest.tscope";
    fs::create_symlink("../run.tscope", link);
    auto writer = std::make_unique<store::RunWriter>(file_, strings_);
    begin(*writer);
    write(*writer, 10);
    SharedFile shared(link);
    ASSERT_TRUE(shared.look());
    EXPECT_EQ(shared.look(), nullptr);
    write(*writer, 10);
    const auto grown = shared.look();
    ASSERT_TRUE(grown) << "the log beside the file itself has grown";
    EXPECT_EQ(grown->runs[0].step->n, 2);
    EXPECT_EQ(grown->runs[0].result.status, RunStatus::Running) << "its lock is found";
    EXPECT_THROW(store::RunWriter(link, strings_), Error) << "it has one writer, whatever its name";
    writer->endRun({});
    writer.reset();
    EXPECT_EQ(kernelsOf(shared), 20u);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "links"), {}), 1);
}

TEST_F(SharedFileTest, ATimelineGrowsWithItsRunAndFinallyEqualsTheSealedOne)
{
    auto writer = std::make_unique<store::RunWriter>(file_, strings_);
    begin(*writer);
    SharedFile shared(file_);
    EXPECT_TRUE(shared.timeline(RunId{1}, testing::kNotCancelled)->lanes.empty()) << "nothing is traced yet";
    write(*writer, 3'000);
    const auto timeline = shared.timeline(RunId{1}, testing::kNotCancelled);
    EXPECT_EQ(kernelsOf(*timeline), 3'000u);
    EXPECT_EQ(shared.timeline(RunId{1}, testing::kNotCancelled), timeline) << "nothing is new";
    write(*writer, 60'000);
    EXPECT_EQ(kernelsOf(shared), 63'000u);
    writer->endRun({});
    writer.reset();
    ASSERT_FALSE(fs::exists(file_.string() + "-wal")) << "sealed although it is looked at";
    const auto sealed = shared.timeline(RunId{1}, testing::kNotCancelled);
    EXPECT_EQ(kernelsOf(*sealed), 63'000u);
    EXPECT_EQ(shared.timeline(RunId{1}, testing::kNotCancelled), sealed) << "read once";
    const store::RunReader reader(file_);
    EXPECT_FALSE(reader.tracks(RunId{1}).empty()) << "large enough to be kept ready made";
    EXPECT_EQ(sealed->origin, reader.span(RunId{1})->first);
}

/// The engine does this if the file is on a network disk: it replaces the file repeatedly.
TEST_F(SharedFileTest, SnapshotsOnANetworkDiskAreFollowed)
{
    const fs::path home = folder_ / "home.tscope";
    const store::WriterLock lock(home); // also held on the file itself, so that the snapshot's run
                                        // counts as running
    const auto publish = [&] {
        store::snapshot(file_, folder_ / "arriving");
        fs::rename(folder_ / "arriving", home);
    };
    auto writer = std::make_unique<store::RunWriter>(file_, strings_);
    begin(*writer);
    write(*writer, 2'000);
    publish();
    SharedFile shared(home);
    EXPECT_EQ(shared.look()->runs[0].result.status, RunStatus::Running);
    EXPECT_EQ(kernelsOf(shared), 2'000u);
    write(*writer, 3'000);
    EXPECT_EQ(shared.look(), nullptr) << "it is not at home yet";
    publish();
    ASSERT_TRUE(shared.look());
    EXPECT_EQ(kernelsOf(shared), 5'000u) << "each event once";
    writer->endRun({});
    begin(*writer);
    write(*writer, 10);
    publish();
    const auto runs = shared.look();
    ASSERT_TRUE(runs);
    ASSERT_EQ(runs->runs.size(), 2u);
    EXPECT_EQ(runs->runs[0].result.status, RunStatus::Ok);
    EXPECT_EQ(runs->runs[1].result.status, RunStatus::Running);
    EXPECT_EQ(kernelsOf(shared, 1), 5'000u);
    EXPECT_EQ(kernelsOf(shared, 2), 10u);
    writer->endRun({});
    writer.reset();
    publish();
    const auto done = shared.look();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->runs[1].result.status, RunStatus::Ok);
    EXPECT_EQ(kernelsOf(shared, 2), 10u);
}

TEST_F(SharedFileTest, ARunWithAKilledWriterBecomesInterruptedWithoutAChange)
{
    store::testing::Child writing([&](int out) {
        store::RunWriter writer(file_, strings_);
        begin(writer);
        write(writer, 50);
        store::testing::say(out, "written");
        pause();
    });
    ASSERT_EQ(writing.line(), "written");
    SharedFile shared(file_);
    ASSERT_EQ(shared.look()->runs[0].result.status, RunStatus::Running);
    EXPECT_EQ(kernelsOf(shared), 50u);
    writing.kill();
    std::shared_ptr<const FileSnapshot> seen;
    for (int i = 0; i < 1200 && !seen; ++i) {
        seen = shared.look();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->runs[0].result.status, RunStatus::Interrupted);
    EXPECT_EQ(kernelsOf(shared), 50u) << "what it left is there";
}

TEST_F(SharedFileTest, AReplacedFileIsReadAgain)
{
    for (const std::uint32_t events : {40U, 70U}) {
        {
            store::RunWriter writer(folder_ / "next.tscope", strings_);
            begin(writer);
            write(writer, events);
            writer.endRun({});
        }
        fs::rename(folder_ / "next.tscope", folder_ / ("file" + std::to_string(events)));
    }
    fs::copy_file(folder_ / "file40", file_);
    SharedFile shared(file_);
    ASSERT_TRUE(shared.look());
    EXPECT_EQ(kernelsOf(shared), 40u);
    fs::rename(folder_ / "file70", file_);
    ASSERT_TRUE(shared.look());
    EXPECT_EQ(kernelsOf(shared), 70u) << "the runs have the same number and are others";
    fs::remove(file_);
    EXPECT_THROW(shared.look(), Error);
}

} // namespace
} // namespace tilescope::query
