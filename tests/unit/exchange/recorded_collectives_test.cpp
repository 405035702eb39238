#include "core/exchange/import/recording/recorded_collectives.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/working_block.h"
#include "tests/unit/exchange/imported_run.h"

#include <gtest/gtest.h>

#include <array>

namespace tilescope::exchange {
namespace {

namespace fs = std::filesystem;

/// A working file of rank 1 of 2 with two calls of collectives. Strings from 4 on are the collectives' own.
class RecordedCollective : public ::testing::Test {
protected:
    enum String : std::uint32_t { AllReduce = 4, Group, Ranks, Type, NcclName, NcclGroup, KernelName, Send };

    RecordedCollective()
    {
        block_ = testing::workingStep(true, 1'000'000);
        for (const char* text :
             {"all_reduce", "0", "0,1", "bf16", "ncclAllReduce", "0x00000000000000ab",
              "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "send"})
            block_.strings.emplace_back(text);
    }

    static record::CollectiveRow call(std::int64_t start, std::int64_t end, std::uint32_t op)
    {
        return {.start = start,
                .end = end,
                .sequence = 41,
                .bytes = 64,
                .thread = 7,
                .op = op,
                .group = Group,
                .ranks = Ranks,
                .dtype = Type,
                .groupSize = 2,
                .peer = -1,
                .isOfNccl = 0};
    }
    static record::CollectiveRow ncclCall(std::int64_t start, std::int64_t end)
    {
        record::CollectiveRow row = call(start, end, NcclName);
        row.group = NcclGroup;
        row.ranks = row.dtype = record::kNoString;
        row.sequence = -1;
        row.bytes = 128;
        row.groupSize = 0;
        row.isOfNccl = 1;
        return row;
    }
    void addKernel(std::int64_t launched, std::uint32_t correlation)
    {
        record::ActivityRow kernel = block_.activities.front();
        kernel.launched = launched;
        kernel.start = launched + 5000;
        kernel.end = launched + 9000;
        kernel.name = KernelName;
        kernel.correlation = correlation;
        block_.activities.push_back(kernel);
    }

    ImportedRun import()
    {
        const fs::path file = folder_ / "1.working";
        record::WorkingFileWriter writer(file, {{"pid", "12"}, {"rank", "1"}, {"world", "2"}});
        EXPECT_TRUE(writer.append(block_));
        const std::array files{file};
        const fs::path output = folder_ / "t.tscope";
        return {output, importFiles(files, output)};
    }

    testing::TemporaryFolder folder_;
    record::WorkingBlock block_;
};

TEST_F(RecordedCollective, TakesTheTimesOfItsKernel)
{
    block_.collectives = {call(1'100'000, 1'120'000, AllReduce)};
    addKernel(1'110'000, 900);
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 1U);
    const Collective& collective = run.collectives.front();
    EXPECT_EQ(run.text(collective.op), "all_reduce");
    EXPECT_EQ(run.text(collective.group), "0");
    EXPECT_EQ(run.text(collective.ranks), "0,1");
    EXPECT_EQ(collective.sequence, 41);
    EXPECT_EQ(collective.bytes, 64);
    EXPECT_EQ(collective.groupSize, 2);
    EXPECT_TRUE(collective.device);
    EXPECT_EQ((collective.end - collective.start).count(), 4000);
}

TEST_F(RecordedCollective, IsOneWithTheCallOfNcclWithinIt)
{
    block_.collectives = {ncclCall(1'105'000, 1'115'000), call(1'100'000, 1'120'000, AllReduce)};
    addKernel(1'110'000, 900);
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 1U);
    EXPECT_EQ(run.collectives.front().sequence, 41);
}

TEST_F(RecordedCollective, OfAProgramWithoutPyTorchIsThatOfNccl)
{
    block_.collectives = {ncclCall(1'105'000, 1'115'000)};
    addKernel(1'110'000, 900);
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 1U);
    EXPECT_EQ(run.text(run.collectives.front().op), "all_reduce");
    EXPECT_EQ(run.text(run.collectives.front().group), "0x00000000000000ab");
    EXPECT_EQ(run.text(run.collectives.front().dtype), "bf16");
    EXPECT_EQ(run.collectives.front().bytes, 128);
}

TEST_F(RecordedCollective, WithoutAKernelHasTheTimesOfTheHost)
{
    block_.collectives = {call(1'100'000, 1'300'000, AllReduce)};
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 1U);
    EXPECT_FALSE(run.collectives.front().device);
    EXPECT_EQ((run.collectives.front().end - run.collectives.front().start).count(), 200'000);
    EXPECT_EQ(run.collectives.front().step, 0);
}

TEST_F(RecordedCollective, AKernelWithoutACallIsKnownByItsName)
{
    addKernel(1'110'000, 900);
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 1U);
    EXPECT_EQ(run.text(run.collectives.front().op), "all_reduce");
    EXPECT_EQ(run.collectives.front().bytes, -1);
}

TEST_F(RecordedCollective, TheKernelOfAGroupBelongsToACallBeforeIt)
{
    block_.collectives = {call(1'100'000, 1'120'000, AllReduce), call(1'130'000, 1'140'000, Send)};
    block_.collectives.back().bytes = 8;
    addKernel(1'150'000, 900);
    const ImportedRun run = import();
    ASSERT_EQ(run.collectives.size(), 2U);
    for (const Collective& collective : run.collectives)
        EXPECT_EQ(static_cast<bool>(collective.device), run.text(collective.op) == "all_reduce");
}

/// All nodes of a graph have the correlation id of its launch; their modules are those of the capture.
TEST_F(RecordedCollective, ActivitiesOfGraphsHaveTheirOwnPaths)
{
    block_.strings.emplace_back("step/forward/Model/layers.0");
    block_.activities.front().graphNode = (1ULL << 33) + 1;
    block_.activities.front().path = static_cast<std::uint32_t>(block_.strings.size() - 1);
    const ImportedRun run = import();
    ASSERT_EQ(run.activities.size(), 1U);
    EXPECT_EQ(run.text(run.activities.front().path), "step/forward/Model/layers.0");
}

} // namespace
} // namespace tilescope::exchange
