#include "core/query/calls/call_tree.h"
#include "core/query/calls/call_tree_difference.h"

#include "core/base/error.h"
#include "core/store/run_reader.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace tilescope::query {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

/// `  name total self count`, two spaces a level.
std::vector<std::string> linesOf(const CallTree& tree, std::size_t most = 0)
{
    std::vector<std::string> lines;
    for (const CallTreeRow& row : rowsOf(tree, most))
        lines.push_back(std::string(2 * row.depth, ' ') + row.name + " " + std::to_string(row.total) + " " +
                        std::to_string(row.self) + " " + std::to_string(row.count));
    return lines;
}

class CallTreeOfAFile : public ::testing::Test {
protected:
    testing::FakeTrace trace{strings_};

    CallTreeTable read(const EventQuery& query = {}, const CallTreeOptions& options = {})
    {
        {
            store::RunWriter writer(file_, strings_);
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            writer.write(trace.batch());
            writer.endRun({});
        }
        return readAgain(query, options);
    }
    CallTreeTable readAgain(
        const EventQuery& query, const CallTreeOptions& options,
        const std::function<bool()>& cancelled = [] { return false; })
    {
        return callTree(store::RunReader(file_), query, options, cancelled);
    }

private:
    testing::TemporaryFolder folder_;
    std::filesystem::path file_ = folder_ / "tree.tscope";

protected:
    StringTable strings_;
};

TEST_F(CallTreeOfAFile, OrdersModulesOpsAndKernelsByTime)
{
    trace.kernel("before", 0, 5);
    trace.step(0, 10, 1000);
    trace.op("aten::linear", 10, 90).at("step/forward/ffn");
    const OpId linear = trace.lastOp();
    trace.op("aten::mm", 20, 80, linear).at("step/forward/ffn");
    const OpId mm = trace.lastOp();
    trace.kernel("gemm", 100, 150).at("step/forward/ffn").by(mm);
    trace.kernel("bias", 150, 160).at("step/forward/ffn").by(linear);
    trace.kernel("gemm", 200, 230).at("step/forward/attention");
    trace.kernel("unattributed", 300, 301);
    const CallTreeTable table = read();
    EXPECT_TRUE(table.onGpu);
    EXPECT_EQ(table.events, 5);
    EXPECT_THAT(linesOf(table.tree),
                ElementsAre("step 90 0 3", "  forward 90 0 3", "    ffn 60 0 2", "      aten::linear 60 0 2",
                            "        aten::mm 50 0 1", "          gemm 50 50 1", "        bias 10 10 1",
                            "    attention 30 0 1", "      gemm 30 30 1", "unattributed 1 1 1"));
    const std::vector<CallTreeRow> rows = rowsOf(table.tree);
    EXPECT_EQ(rows[2].path, "step/forward/ffn");
    EXPECT_EQ(rows[2].kind, CallKind::Module);
    EXPECT_EQ(rows[2].parent, 1);
    EXPECT_EQ(rows[5].kind, CallKind::Kernel);
    EXPECT_EQ(rows[5].path, "");
    EXPECT_DOUBLE_EQ(rows[0].percent, 100.0 * 90 / 91);
}

TEST_F(CallTreeOfAFile, LeavesWhatOneThreadLaunchedOrRan)
{
    constexpr ThreadId kMain{1};
    constexpr ThreadId kAutograd{2};
    trace.thread(kMain, "main", 412).thread(kAutograd, "autograd", 413);
    trace.step(0, 0, 1000);
    trace.op("aten::mm", 10, 40).at("step/forward").ranOn(kMain);
    trace.kernel("gemm", 100, 150).at("step/forward").launchedBy(kMain);
    trace.op("MmBackward0", 50, 90).at("step/backward").ranOn(kAutograd);
    trace.kernel("gemm", 200, 230).at("step/backward").launchedBy(kAutograd);
    EXPECT_EQ(read().tree.totalAmount(), 80);
    EXPECT_THAT(linesOf(readAgain({}, {.thread = 413}).tree),
                ElementsAre("step 30 0 1", "  backward 30 0 1", "    gemm 30 30 1"));
    EXPECT_THAT(linesOf(readAgain({}, {.weight = CallWeight::Host, .thread = 412}).tree),
                ElementsAre("step 30 0 1", "  forward 30 0 1", "    aten::mm 30 30 1"));
    try {
        readAgain({}, {.thread = 99});
        ADD_FAILURE() << "there is no such thread";
    } catch (const Error& error) {
        EXPECT_EQ(error.sentence(),
                  "--thread: the run has no thread 99; its threads are main 412, autograd 413");
    }
    EXPECT_THROW(readAgain({}, {.weight = CallWeight::Allocated, .thread = 412}), Error);
}

TEST_F(CallTreeOfAFile, CountsEveryNanosecondOnce)
{
    trace.step(0, 0, 1000);
    std::int64_t sum = 0;
    for (int i = 0; i < 50; ++i) {
        trace.op("op" + std::to_string(i % 3), 10 * i, 10 * i + 9).at("step/m" + std::to_string(i % 4));
        trace.kernel("k" + std::to_string(i % 7), 10 * i, 11 * i + 1).by(trace.lastOp());
        sum += i + 1;
    }
    const CallTreeTable table = read();
    EXPECT_EQ(table.tree.totalAmount(), sum);
    std::int64_t self = 0;
    std::int64_t roots = 0;
    for (const CallTreeRow& row : rowsOf(table.tree)) {
        self += row.self;
        roots += row.parent ? 0 : row.total;
    }
    EXPECT_EQ(self, sum);
    EXPECT_EQ(roots, sum);
}

TEST_F(CallTreeOfAFile, SelectsRangesAndTheWholeRecording)
{
    trace.kernel("before", 0, 5);
    trace.step(0, 10, 1000);
    trace.kernel("a", 20, 30).at("step/forward/a");
    trace.kernel("b", 40, 50).at("step/forward/b");
    const CallTreeTable whole = read({}, {.scope = CallTreeScope::Recording});
    EXPECT_TRUE(whole.whole);
    EXPECT_EQ(whole.tree.totalAmount(), 25);
}

TEST_F(CallTreeOfAFile, SelectsARange)
{
    trace.step(0, 10, 1000);
    trace.kernel("a", 20, 30).at("step/forward/a");
    trace.kernel("b", 40, 50).at("step/forward/b");
    const CallTreeTable table = read({.rangeGlob = "**/b"});
    EXPECT_THAT(linesOf(table.tree),
                ElementsAre("step 10 0 1", "  forward 10 0 1", "    b 10 0 1", "      b 10 10 1"))
        << "a module and a kernel of one name are two nodes";
}

TEST_F(CallTreeOfAFile, WithoutAGpuCountsTheSelfTimeOfOps)
{
    trace.step(0, 0, 1000);
    trace.op("aten::linear", 10, 90).at("step/forward");
    const OpId linear = trace.lastOp();
    trace.op("aten::mm", 20, 80, linear).at("step/forward");
    const CallTreeTable table = read();
    EXPECT_FALSE(table.onGpu);
    EXPECT_THAT(linesOf(table.tree), ElementsAre("step 80 0 2", "  forward 80 0 2",
                                                 "    aten::linear 80 20 2", "      aten::mm 60 60 1"));
}

TEST_F(CallTreeOfAFile, BeginsWithTheFramesThatWereOpenAtTheLaunch)
{
    trace.step(0, 0, 1000);
    trace.kernel("late", 500, 510).launchedAt(25);
    trace.kernel("none", 600, 601).launchedAt(95);
    TraceBatch batch = trace.batch();
    for (DeviceEvent& event : batch.deviceEvents)
        event.launchThread = ThreadId{1};
    const auto frame = [&](const char* name, std::int64_t start, std::int64_t end) {
        batch.frames.push_back({.name = strings_.intern(name),
                                .thread = ThreadId{1},
                                .step = 0,
                                .start = timestampAt(start),
                                .end = timestampAt(end)});
    };
    frame("train.py(3): main", 0, 90);
    frame("train.py(9): step", 20, 30);
    testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "frames.tscope";
    store::RunWriter writer(file, strings_);
    writer.beginRun({"test", "lm", "{}", "hash", "test"});
    writer.write(batch);
    writer.endRun({});
    EXPECT_THAT(linesOf(callTree(store::RunReader(file), {}).tree),
                ElementsAre("train.py(3): main 10 0 1", "  train.py(9): step 10 0 1", "    late 10 10 1",
                            "none 1 1 1"));
}

TEST_F(CallTreeOfAFile, OfATimeSpanCountsWhatLiesWithin)
{
    trace.kernel("before", 0, 100);
    trace.step(0, 100, 1000);
    trace.kernel("a", 100, 200);
    trace.kernel("b", 250, 300);
    const CallTreeTable table = read({}, {.span = TimeSpan{.from = Nanoseconds(50), .to = Nanoseconds(260)}});
    EXPECT_TRUE(table.whole);
    EXPECT_THAT(linesOf(table.tree), ElementsAre("a 100 100 1", "before 50 50 1", "b 10 10 1"));
}

TEST_F(CallTreeOfAFile, StopsReadingWhenCancelled)
{
    trace.step(0, 0, 1000);
    for (int i = 0; i < 10; ++i) {
        trace.op("aten::mm", 20 * i, 20 * i + 10).at("step/forward");
        trace.kernel("gemm", 20 * i + 5, 20 * i + 15).at("step/forward").by(trace.lastOp());
    }
    EXPECT_THAT(linesOf(read().tree).back(), ::testing::EndsWith(" 10"));
    for (const CallWeight weight : {CallWeight::Time, CallWeight::Host}) {
        int asked = 0;
        const CallTreeTable table = readAgain({}, {.weight = weight}, [&asked] {
            return ++asked > 13;
        }); // once for each of 10 ops, then for 4 events
        EXPECT_THAT(linesOf(table.tree).back(), ::testing::EndsWith(" 4")) << wordOf(weight);
    }
}

TEST_F(CallTreeOfAFile, HostTimeIsTheSelfTimeOfOpsBesideAGpu)
{
    trace.step(0, 0, 1000);
    trace.op("aten::mm", 20, 80).at("step/forward");
    trace.kernel("gemm", 100, 500).at("step/forward").by(trace.lastOp());
    const CallTreeTable table = read({}, {.weight = CallWeight::Host});
    EXPECT_FALSE(table.onGpu);
    EXPECT_THAT(linesOf(table.tree), ElementsAre("step 60 0 1", "  forward 60 0 1", "    aten::mm 60 60 1"));
}

TEST_F(CallTreeOfAFile, BytesStandOnTheCategoryOfTheAllocation)
{
    trace.alloc(9, 5, 1);
    trace.step(0, 10, 1000);
    trace.alloc(1, 100, 20).at("step/forward/ffn").category("activations");
    trace.alloc(2, 30, 30).at("step/forward/ffn");
    trace.free(1, 100, 40);
    const CallTreeTable table = read({}, {.weight = CallWeight::Allocated});
    EXPECT_THAT(linesOf(table.tree), ElementsAre("step 130 0 2", "  forward 130 0 2", "    ffn 130 0 2",
                                                 "      activations 100 100 1", "      allocation 30 30 1"));
}

TEST_F(CallTreeOfAFile, FlopsStandOnTheOpThatCountsThem)
{
    trace.step(0, 0, 1000);
    trace.op("aten::mm", 20, 80).shaped("f32[4, 8] f32[8, 16]").at("step/forward/ffn");
    trace.kernel("gemm", 100, 500).at("step/forward/ffn").by(trace.lastOp());
    const CallTreeTable table = read({}, {.weight = CallWeight::Flops});
    const std::string flops = std::to_string(2 * 4 * 8 * 16);
    EXPECT_EQ(linesOf(table.tree).back(), "      aten::mm " + flops + " " + flops + " 1");
    const std::string bytes = std::to_string(4 * (4 * 8 + 8 * 16 + 4 * 16));
    EXPECT_EQ(linesOf(readAgain({}, {.weight = CallWeight::Moved}).tree).back(),
              "      aten::mm " + bytes + " " + bytes + " 1");
}

TEST_F(CallTreeOfAFile, FlopsOfATimeSpanAreThoseOfKernelsThatStartInIt)
{
    const auto product = [this](std::int64_t start) {
        trace.op("aten::mm", start, start + 10).shaped("f32[4, 8] f32[8, 16]");
        trace.kernel("gemm", start + 100, start + 200).by(trace.lastOp());
    };
    product(0);
    trace.step(0, 300, 1000);
    product(400);
    constexpr std::int64_t kFlops = 2 * 4 * 8 * 16;
    EXPECT_EQ(read({}, {.weight = CallWeight::Flops}).tree.totalAmount(), kFlops) << "of the traced step";
    const auto of = [this](std::int64_t from, std::int64_t to) {
        return readAgain({}, {.weight = CallWeight::Flops,
                              .span = TimeSpan{.from = Nanoseconds(from), .to = Nanoseconds(to)}})
            .tree.totalAmount();
    };
    EXPECT_EQ(of(0, 1000), 2 * kFlops);
    EXPECT_EQ(of(0, 450), kFlops);
    EXPECT_EQ(of(450, 1000), kFlops) << "the op began earlier, its kernel did not";
    EXPECT_EQ(of(150, 450), 0);
    EXPECT_EQ(
        readAgain({}, {.scope = CallTreeScope::Recording, .weight = CallWeight::Flops}).tree.totalAmount(),
        2 * kFlops);
}

class CallTreesOfTwoRuns : public ::testing::Test {
protected:
    CallTreeDifference difference(const std::function<void(testing::FakeTrace&)>& a,
                                  const std::function<void(testing::FakeTrace&)>& b, bool isInverted = false)
    {
        const store::RunReader left(write("a.tscope", a));
        const store::RunReader right(write("b.tscope", b));
        return callTreeDifference(left, {}, right, {}, {}, isInverted);
    }

    static std::vector<std::string> linesOfDifference(const CallTreeDifference& difference)
    {
        std::vector<std::string> lines;
        for (const CallTreeDifferenceRow& row : rowsOf(difference))
            lines.push_back(std::string(2 * row.depth, ' ') + row.name + " " + std::to_string(row.a) + " " +
                            std::to_string(row.b) + " " + std::to_string(row.selfChange));
        return lines;
    }

private:
    std::filesystem::path write(const char* name, const std::function<void(testing::FakeTrace&)>& make)
    {
        StringTable strings;
        testing::FakeTrace trace(strings);
        make(trace);
        store::RunWriter writer(folder_ / name, strings);
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
        return folder_ / name;
    }

    testing::TemporaryFolder folder_;
};

TEST_F(CallTreesOfTwoRuns, AreMeansOfAStepWithTheLargestChangeFirst)
{
    const auto naive = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 500).kernel("gemm", 10, 110).at("step/ffn");
        trace.kernel("softmax", 120, 150).at("step/attention");
        trace.step(1, 500, 1000).kernel("gemm", 510, 630).at("step/ffn");
        trace.kernel("softmax", 640, 670).at("step/attention");
    };
    const auto fused = [](testing::FakeTrace& trace) {
        trace.step(0, 0, 500).kernel("gemm", 10, 115).at("step/ffn");
        trace.kernel("flash", 120, 130).at("step/attention");
    };
    EXPECT_THAT(linesOfDifference(difference(naive, fused)),
                ElementsAre("step 140 115 0", "  attention 30 10 0", "    softmax 30 0 -30",
                            "    flash 0 10 10", "  ffn 110 105 0", "    gemm 110 105 -5"));
    const CallTreeDifference inverted = difference(naive, fused, true);
    EXPECT_EQ(linesOfDifference(inverted).front(), "softmax 30 0 0");
    EXPECT_EQ(inverted.joined.tree.totalAmount(), 30 + 10 + 110) << "every box is as wide as its larger side";
}

TEST(CallTree, InvertedBeginsWithWhatTookTheTime)
{
    CallTree tree;
    const CallTree::Node a = tree.child(CallTree::kRoot, CallKind::Module, "a");
    const CallTree::Node b = tree.child(CallTree::kRoot, CallKind::Module, "b");
    tree.add(tree.child(a, CallKind::Kernel, "gemm"), 6);
    tree.add(tree.child(b, CallKind::Kernel, "gemm"), 1, 2);
    tree.add(tree.child(b, CallKind::Kernel, "add"), 3);
    EXPECT_THAT(linesOf(inverted(tree)),
                ElementsAre("gemm 7 0 3", "  a 6 6 1", "  b 1 1 2", "add 3 0 1", "  b 3 3 1"));
}

TEST(CallTreeRows, KeepTheLongestWithTheirParents)
{
    CallTree tree;
    const CallTree::Node a = tree.child(CallTree::kRoot, CallKind::Module, "a");
    tree.add(tree.child(a, CallKind::Kernel, "x"), 6);
    tree.add(tree.child(a, CallKind::Kernel, "y"), 1);
    tree.add(tree.child(CallTree::kRoot, CallKind::Kernel, "z"), 3);
    EXPECT_THAT(linesOf(tree, 3), ElementsAre("a 7 0 2", "  x 6 6 1", "z 3 3 1"));
    EXPECT_THAT(linesOf(tree, 1), ElementsAre("a 7 0 2"));
    EXPECT_THAT(rowsOf(tree, 4), SizeIs(4));
    EXPECT_THAT(rowsOf(CallTree{}), SizeIs(0));
}

} // namespace
} // namespace tilescope::query
