#include "core/exchange/import/recording/growing_recording.h"

#include "core/base/error.h"
#include "core/record/process_end.h"
#include "core/store/run_reader.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/working_block.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <fstream>
#include <map>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;
using tilescope::testing::workingStep;

class Growing : public ::testing::Test {
protected:
    Growing() { fs::create_directory(working_); }

    std::map<std::string, std::string> facts() const
    {
        std::map<std::string, std::string> facts;
        for (const EnvironmentEntry& entry : store::RunReader(copy_).environment(RunId{1}))
            facts[entry.key] = entry.value;
        return facts;
    }
    std::map<std::string, std::int64_t> losses() const
    {
        std::map<std::string, std::int64_t> losses;
        for (const store::RunReader::LossRecord& loss : store::RunReader(copy_).losses(RunId{1}))
            losses[loss.kind] = loss.count;
        return losses;
    }

    testing::TemporaryFolder folder_;
    fs::path output_ = folder_ / "t.tscope";
    fs::path working_ = folder_ / "t.tscope.recording-Ab12Cd";
    fs::path copy_ = folder_ / "copy.tscope";
};

TEST_F(Growing, IsFoundByItsFolderAndByItsOutput)
{
    for (const fs::path& named : {working_, working_ / "", output_, folder_ / "." / "t.tscope"}) {
        const auto found = GrowingRecording::of(named);
        ASSERT_TRUE(found) << named;
        EXPECT_EQ(found->folder, working_);
        EXPECT_EQ(found->output, output_);
    }
    EXPECT_FALSE(GrowingRecording::of(folder_ / "other.tscope"));
    EXPECT_FALSE(GrowingRecording::of(folder_.path()));
    EXPECT_FALSE(GrowingRecording::of(folder_ / "missing" / "t.tscope"));
    fs::remove(working_);
    EXPECT_FALSE(GrowingRecording::of(working_));
    std::ofstream(working_) << "a file of that name";
    EXPECT_FALSE(GrowingRecording::of(output_));
}

TEST_F(Growing, ItsBytesAreThoseOfAllProcesses)
{
    const GrowingRecording recording{working_, output_};
    EXPECT_EQ(recording.bytes(), 0U);
    std::ofstream(working_ / "1") << "12345";
    std::ofstream(working_ / "2") << "123";
    EXPECT_EQ(recording.bytes(), 8U);
    fs::remove_all(working_);
    EXPECT_FALSE(recording.bytes());
}

TEST_F(Growing, EachImportHoldsWhatIsThereSoFar)
{
    const GrowingRecording recording{working_, output_};
    EXPECT_FALSE(recording.importInto(copy_)) << "there is no working file yet";
    EXPECT_FALSE(fs::exists(copy_));
    record::WorkingFileWriter writer(working_ / "1", {{"pid", "12"}, {"name", "python"}});
    const auto kernels = [this] { return store::RunReader(copy_).counts(RunId{1}).deviceEvents; };
    ASSERT_TRUE(writer.append(workingStep(true, 1'000'000)));
    ASSERT_TRUE(recording.importInto(copy_));
    EXPECT_EQ(kernels(), 1);
    const std::string before = store::RunReader(copy_).run(RunId{1})->uid;
    ASSERT_TRUE(writer.append(workingStep(false, 3'000'000)));
    const store::RunReader shown(copy_);
    ASSERT_TRUE(recording.importInto(copy_));
    EXPECT_EQ(kernels(), 2);
    EXPECT_NE(store::RunReader(copy_).run(RunId{1})->uid, before);
    EXPECT_EQ(shown.counts(RunId{1}).deviceEvents, 1) << "a reader keeps the file that it opened";
    EXPECT_EQ(store::RunReader(copy_).run(RunId{1})->name, "t.tscope");
}

TEST_F(Growing, TheLatestValueOfAFactCounts)
{
    record::WorkingFileWriter writer(working_ / "1", {{"pid", "12"}, {"memory", "is not recorded"}});
    ASSERT_TRUE(writer.append(workingStep(true, 1'000'000)));
    writer.addFact("memory", "by the plug-in");
    writer.addFact("cost", "1.01");
    const GrowingRecording recording{working_, output_};
    ASSERT_TRUE(recording.importInto(copy_));
    EXPECT_EQ(facts()["record.memory"], "by the plug-in");
    EXPECT_EQ(facts()["record.cost"], "1.01");
}

/// What the recorder counted before the last block, and the end itself.
TEST_F(Growing, CountsTheLossesOfAKilledProcess)
{
    record::WorkingFileWriter writer(working_ / "1", {{"pid", "12"}});
    record::WorkingBlock block = workingStep(true, 1'000'000);
    const auto name = static_cast<std::uint32_t>(block.strings.size());
    block.strings.emplace_back("ring_overflow");
    block.losses.push_back({.name = name, .detail = record::kNoString, .count = 5});
    ASSERT_TRUE(writer.append(block));
    block = workingStep(false, 3'000'000);
    block.losses.push_back({.name = name, .detail = record::kNoString, .count = 7});
    ASSERT_TRUE(writer.append(block));
    ASSERT_TRUE((GrowingRecording{working_, output_}.importInto(copy_)));
    EXPECT_EQ(losses(), (std::map<std::string, std::int64_t>{{"ring_overflow", 7}, {"source_cut", 1}}));
    EXPECT_NE(facts()["record.ended"].find("ended without exit()"), std::string::npos);
    record::noteEnd(working_ / "1", "signal 9 (Killed)"); // by a recorder that saw its end
    ASSERT_TRUE((GrowingRecording{working_, output_}.importInto(copy_)));
    EXPECT_NE(facts()["record.ended"].find("signal 9 (Killed) killed the process"), std::string::npos);
}

TEST_F(Growing, AProcessThatStillRunsHasLostNothing)
{
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    record::WorkingFileWriter writer(working_ / "1",
                                     {{"pid", std::to_string(getpid())}, {"host", host.data()}});
    ASSERT_TRUE(writer.append(workingStep(true, 1'000'000)));
    const GrowingRecording recording{working_, output_};
    ASSERT_TRUE(recording.importInto(copy_));
    EXPECT_TRUE(losses().empty());
    EXPECT_NE(facts()["record.ended"].find("still runs"), std::string::npos);
    writer.addFact("finished", "yes");
    ASSERT_TRUE(recording.importInto(copy_));
    EXPECT_TRUE(losses().empty());
    EXPECT_FALSE(facts().contains("record.ended"));
}

TEST_F(Growing, ACancelledImportLeavesTheLastOne)
{
    const GrowingRecording recording{working_, output_};
    record::WorkingFileWriter writer(working_ / "1", {{"pid", "12"}});
    ASSERT_TRUE(writer.append(workingStep(true, 1'000'000)));
    ASSERT_TRUE(recording.importInto(copy_));
    ASSERT_TRUE(writer.append(workingStep(false, 3'000'000)));
    EXPECT_THROW(recording.importInto(copy_, [](double) { return false; }), Error);
    EXPECT_EQ(store::RunReader(copy_).counts(RunId{1}).deviceEvents, 1);
}

} // namespace
} // namespace tilescope::exchange
