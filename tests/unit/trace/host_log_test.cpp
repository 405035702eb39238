#include "core/trace/host/host_log.h"

#include "core/trace/host/path_tree.h"
#include "core/trace/host/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace tilescope::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// --- an autograd for tests: numbers its nodes per thread and evaluates one at a time
// ----------------------------

std::atomic<std::uint64_t> threadsSeen{0};
thread_local std::uint64_t mySequence = 0;
thread_local const std::uint64_t myNumber = ++threadsSeen;
thread_local AutogradProbe::Node evaluated;

AutogradProbe::Node createNode()
{
    return {.identity = &evaluated, .sequence = mySequence++, .thread = myNumber};
}

/// Evaluates a backward node for the length of a scope.
class Evaluating {
public:
    explicit Evaluating(const AutogradProbe::Node& node) : before_(evaluated) { evaluated = node; }
    ~Evaluating() { evaluated = before_; }
    Evaluating(const Evaluating&) = delete;
    Evaluating& operator=(const Evaluating&) = delete;

private:
    AutogradProbe::Node before_;
};

class HostLogTest : public ::testing::Test {
protected:
    HostLogTest()
    {
        static const bool once = [] {
            HostLogs::instance().setProbe({.nextSequence = +[]() noexcept { return mySequence; },
                                           .thread = +[]() noexcept { return myNumber; },
                                           .running = +[]() noexcept { return evaluated; }});
            return true;
        }();
        static_cast<void>(once);
        logs.start(1 << 12, 2); // the session thread takes one, another thread the other
    }
    ~HostLogTest() override { logs.stop(); }

    /// Path of an event of this moment in this thread.
    static std::string here()
    {
        const HostContext context = HostLogs::here();
        return context.path == kNone ? "none" : PathTree::instance().node(context.path)->path;
    }
    std::vector<HostRecord> drained()
    {
        std::vector<HostRecord> records;
        logs.drain([&](const ThreadLog&, const HostRecord& record) { records.push_back(record); });
        return records;
    }
    HostLogs& logs = HostLogs::instance();
};

TEST_F(HostLogTest, RangesNest)
{
    EXPECT_EQ(here(), "none");
    {
        const ScopedRange outer("outer");
        EXPECT_EQ(here(), "outer");
        {
            const ScopedRange inner("inner");
            EXPECT_EQ(here(), "outer/inner");
        }
        EXPECT_EQ(here(), "outer");
    }
    EXPECT_EQ(here(), "none");
    const auto records = drained();
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].range.parent, records[1].range.id);
    EXPECT_EQ(records[1].range.parent, kNone);
    EXPECT_GE(records[0].range.start, records[1].range.start);
    EXPECT_LE(records[0].range.end, records[1].range.end);
}

TEST_F(HostLogTest, NothingIsRecordedAfterStop)
{
    logs.stop();
    {
        const ScopedRange range("unseen");
        EXPECT_EQ(HostLogs::mine(), nullptr);
    }
    EXPECT_THAT(drained(), IsEmpty());
}

TEST_F(HostLogTest, ARangeThatOutlivesItsRecordingEndsWithIt)
{
    {
        const ScopedRange range("open");
        logs.stop();
        const auto records = drained();
        ASSERT_EQ(records.size(), 1U);
        logs.start(1 << 12, 0);
        const ScopedRange other("other");
    }
    // "other" ends as usual; "open" was of the recording before.
    EXPECT_EQ(drained().size(), 1U);
}

TEST_F(HostLogTest, NestingBeyondWhatIsKeptIsCountedAndHarmless)
{
    const std::uint64_t before = logs.counters().tooDeep;
    const std::function<void(int)> nest = [&](int depth) {
        const ScopedRange range("deep");
        if (depth > 1)
            nest(depth - 1);
    };
    nest(100);
    EXPECT_EQ(logs.counters().tooDeep - before, 36U);
    EXPECT_EQ(drained().size(), 64U);
    EXPECT_EQ(here(), "none");
}

TEST_F(HostLogTest, AThreadWithoutRangesSitsWhereTheSessionThreadDoes)
{
    const ScopedRange step("step");
    const ScopedRange backward("backward");
    std::string elsewhere;
    std::string inside;
    std::thread([&] {
        elsewhere = here();
        const ScopedRange own("recompute");
        inside = here();
    }).join();
    EXPECT_EQ(elsewhere, "step/backward");
    EXPECT_EQ(inside, "step/backward/recompute");
    EXPECT_EQ(here(), "step/backward");
}

// --- backward
// --------------------------------------------------------------------------------------------------

TEST_F(HostLogTest, ABackwardNodeBelongsToTheRangeItsForwardRanIn)
{
    AutogradProbe::Node outside;
    AutogradProbe::Node query;
    AutogradProbe::Node score;
    AutogradProbe::Node output;
    {
        const ScopedRange step("step");
        const ScopedRange forward("forward");
        outside = createNode();
        const ScopedRange attention("attention");
        query = createNode();
        {
            const ScopedRange scores("scores");
            score = createNode();
        }
        output = createNode();
    }
    const ScopedRange step("step");
    const ScopedRange backward("backward");
    std::vector<std::string> paths;
    std::thread([&] {
        for (const AutogradProbe::Node& node : {output, score, query, outside}) {
            const Evaluating now(node);
            paths.push_back(here());
        }
    }).join();
    EXPECT_THAT(paths, ElementsAre("step/backward/attention", "step/backward/attention/scores",
                                   "step/backward/attention", "step/backward"));
}

/// The search begins where the last one ended.
TEST_F(HostLogTest, BackwardNodesAreFoundInAnyOrder)
{
    constexpr int kModules = 300;
    std::vector<std::pair<AutogradProbe::Node, std::string>> nodes;
    {
        const ScopedRange step("step");
        const ScopedRange forward("forward");
        for (int i = 0; i < kModules; ++i) {
            const std::string name = "layers." + std::to_string(i);
            const ScopedRange module(name.c_str());
            nodes.emplace_back(createNode(), "step/backward/" + name);
            nodes.emplace_back(createNode(), "step/backward/" + name);
        }
    }
    const ScopedRange step("step");
    const ScopedRange backward("backward");
    // Backwards by one, by leaps of every length, and forwards.
    std::thread([&] {
        for (const std::size_t leap : {nodes.size() - 1, std::size_t{1}, std::size_t{37}, std::size_t{599}})
            for (std::size_t i = 0, at = nodes.size() - 1; i < nodes.size();
                 ++i, at = (at + leap) % nodes.size()) {
                const Evaluating now(nodes[at].first);
                ASSERT_EQ(here(), nodes[at].second) << "leap " << leap;
            }
    }).join();
}

TEST_F(HostLogTest, ANodeInTheSessionThreadSaysMoreThanItsPhase)
{
    AutogradProbe::Node node;
    const ScopedRange step("step");
    {
        const ScopedRange forward("forward");
        const ScopedRange module("layers.0");
        node = createNode();
    }
    const ScopedRange backward("backward");
    const Evaluating now(node);
    EXPECT_EQ(here(), "step/backward/layers.0");
    const ScopedRange inside("scores");
    EXPECT_EQ(here(), "step/backward/layers.0/scores") << "what the node opens itself says even more";
}

TEST_F(HostLogTest, AModuleRecomputedInBackwardIsNotNestedInItself)
{
    AutogradProbe::Node checkpoint;
    const ScopedRange step("step");
    {
        const ScopedRange forward("forward");
        const ScopedRange module("layers.0");
        checkpoint = createNode();
    }
    const ScopedRange backward("backward");
    std::vector<std::string> paths;
    std::thread([&] {
        const Evaluating now(checkpoint);
        AutogradProbe::Node inner;
        {
            const ScopedRange module("layers.0");
            const ScopedRange mlp("mlp");
            paths.push_back(here());
            inner = createNode();
        }
        const Evaluating reentrant(inner);
        paths.push_back(here());
    }).join();
    EXPECT_THAT(paths, ElementsAre("step/backward/layers.0/mlp", "step/backward/layers.0/mlp"));
}

TEST_F(HostLogTest, AccumulationBelongsToTheNodeBeforeIt)
{
    AutogradProbe::Node node;
    const ScopedRange step("step");
    {
        const ScopedRange forward("forward");
        const ScopedRange module("layers.7");
        node = createNode();
    }
    const ScopedRange backward("backward");
    const AutogradProbe::Node accumulate{.identity = &node, .sequence = kAccumulateSequence, .thread = 0};
    std::vector<std::string> paths;
    std::thread([&] {
        {
            const Evaluating first(accumulate);
            paths.push_back(here());
        }
        {
            const Evaluating now(node);
            paths.push_back(here());
        }
        const Evaluating after(accumulate);
        paths.push_back(here());
    }).join();
    EXPECT_THAT(paths, ElementsAre("step/backward", "step/backward/layers.7", "step/backward/layers.7"));
}

TEST_F(HostLogTest, ANodeOlderThanWhatIsRememberedFallsBackToThePhase)
{
    AutogradProbe::Node old;
    const ScopedRange step("step");
    {
        const ScopedRange forward("forward");
        {
            const ScopedRange module("ancient");
            old = createNode();
        }
        for (int i = 0; i < 20'000; ++i) {
            const ScopedRange module("recent");
            createNode();
        }
    }
    drained();
    const ScopedRange backward("backward");
    const Evaluating now(old);
    EXPECT_EQ(here(), "step/backward");
}

// --- ops, calls, threads
// ---------------------------------------------------------------------------------------

TEST_F(HostLogTest, OpsKnowTheirParentAndTheirPlaceInTheStep)
{
    ThreadLog& log = *HostLogs::mine();
    logs.setStep(1);
    log.openOp("aten::matmul", 5, OpScope::Function, kNone);
    log.openOp("aten::mm", 5, OpScope::Function, ThreadLog::numberOf("[2, 2] [2, 2]"));
    log.closeOp();
    log.closeOp();
    logs.setStep(2);
    log.openOp("aten::relu", 6, OpScope::Function, kNone);
    log.closeOp();
    log.closeOp(); // of an op that began before the recording
    std::vector<HostRecord> ops;
    for (const HostRecord& record : drained()) {
        if (record.kind == HostRecord::Kind::Op)
            ops.push_back(record);
    }
    ASSERT_EQ(ops.size(), 3U);
    EXPECT_EQ(ops[0].context.op, ops[1].op.id);
    EXPECT_EQ(ops[1].context.op, kNone);
    EXPECT_EQ(ops[0].op.ordinal, 1U);
    EXPECT_EQ(ops[2].op.ordinal, 0U);
    EXPECT_EQ(PathTree::instance().node(ops[0].op.shapes)->component, "[2, 2] [2, 2]");
    EXPECT_EQ(ops[1].op.shapes, kNone);
}

TEST_F(HostLogTest, OnlyTheOutermostCallCounts)
{
    ThreadLog& log = *HostLogs::mine();
    EXPECT_FALSE(log.leaveCall()) << "began before the recording";
    EXPECT_TRUE(log.enterCall());
    EXPECT_FALSE(log.enterCall());
    EXPECT_FALSE(log.leaveCall());
    EXPECT_TRUE(log.leaveCall());
    EXPECT_TRUE(log.enterCall());
}

TEST_F(HostLogTest, LogsOfEndedThreadsAreUsedAgain)
{
    std::thread([] { const ScopedRange range("first"); }).join();
    drained();
    const std::size_t before = logs.logs().size();
    for (int i = 0; i < 50; ++i) {
        std::thread([] { const ScopedRange range("later"); }).join();
        EXPECT_EQ(drained().size(), 1U);
    }
    EXPECT_EQ(logs.logs().size(), before);
}

TEST_F(HostLogTest, ManyThreadsRecordWhileOneDrains)
{
    constexpr int kThreads = 6;
    constexpr int kRanges = 20'000;
    std::map<std::string, int> seen;
    std::atomic<int> running{kThreads};
    const std::uint64_t droppedBefore = logs.counters().dropped;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&running, t] {
            const std::string mine = "worker." + std::to_string(t);
            for (int i = 0; i < kRanges; ++i) {
                const ScopedRange outer(mine);
                const ScopedRange inner("inner");
                noteCpuAllocation(AllocAction::Alloc, &running, 1, 1);
            }
            --running;
        });
    }
    int total = 0;
    const auto take = [&](const ThreadLog&, const HostRecord& record) {
        ++seen[PathTree::instance().node(record.context.path)->path];
        ++total;
    };
    while (running > 0)
        logs.drain(take);
    for (std::thread& thread : threads)
        thread.join();
    logs.drain(take);
    const auto dropped = static_cast<int>(logs.counters().dropped - droppedBefore);
    EXPECT_EQ(total + dropped, kThreads * kRanges * 2);
    EXPECT_EQ(seen.size(), 2U * kThreads);
}

TEST_F(HostLogTest, CpuAllocationsAreNotedOnlyWhenWanted)
{
    noteCpuAllocation(AllocAction::Alloc, this, 64, 64);
    EXPECT_THAT(drained(), IsEmpty());
    recordCpuAllocations(true);
    noteCpuAllocation(AllocAction::Alloc, this, 64, 128);
    recordCpuAllocations(false);
    const auto records = drained();
    ASSERT_EQ(records.size(), 1U);
    EXPECT_EQ(records[0].alloc.bytes, 64);
    EXPECT_EQ(records[0].alloc.allocated, 128);
}

} // namespace
} // namespace tilescope::trace
