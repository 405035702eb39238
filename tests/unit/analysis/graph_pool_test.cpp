#include "core/analysis/memory/graph_pool.h"

#include "tests/support/fake_trace.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using tilescope::testing::FakeTrace;

constexpr std::uint32_t kPool = poolNumber(1, 0);
constexpr std::uint32_t kProgramsPool = poolNumber(0, 1);

/// The caching allocator's trace while a step of a language model is captured: its pool gets segments from
/// the driver; blocks are split off, freed and allocated again at the same address; frees are requested and
/// later completed. Logits and loss survive, because replays write them.
class Capture {
public:
    Capture()
    {
        const OpId mm = op("aten::mm");
        segment(0x10000, 4096);
        alloc(0x10000, 1000, "step/forward/layers.0/ffn", mm); // saved for backward
        alloc(0x10400, 500, "step/forward/layers.0/ffn", mm);  // a temporary
        free(0x10400, 500);
        alloc(0x10400, 512, "step/forward/lm_head", mm); // the logits, where it was
        alloc(0x10600, 4, "step/loss", op("aten::nll_loss_forward"));
        segment(0x20000, 2048);
        alloc(0x20000, 300, "step/backward/layers.0/ffn", mm); // a gradient
        alloc(0x20200, 100, "step/backward/layers.0/ffn", mm);
        free(0x20200, 100);
        free(0x10000, 1000);
        alloc(0x30000, 64, "step/optimizer", {}, 0);             // in the common pool
        alloc(0x40000, 64, "step/optimizer", {}, kProgramsPool); // in one of the program's
        alloc(0x20400, 32, "", {});                              // by an unknown requester
        step.held = {{.time = timestampAt(time_), .category = MemoryCategory::Gradients, .address = 0x20000}};
        step.saved = {{.address = 0x10000, .time = timestampAt(savedAt_)}};
        for (const Op& each : trace_.batch().ops)
            step.ops.push_back(each);
    }

    StringTable strings;
    CapturedStep step;

private:
    OpId op(std::string_view name)
    {
        trace_.op(name, 1, 2);
        return trace_.lastOp();
    }
    void note(AllocAction action, std::uint64_t address, std::int64_t bytes, std::uint32_t pool,
              std::string_view path = {}, OpId op = {})
    {
        AllocEvent event{.time = timestampAt(++time_),
                         .action = action,
                         .device = DeviceIndex{0},
                         .address = address,
                         .bytes = bytes,
                         .pool = pool};
        if (!path.empty())
            event.path = strings.intern(path);
        event.op = op;
        step.events.push_back(event);
        if (path == "step/loss")
            savedAt_ = time_;
    }
    void segment(std::uint64_t address, std::int64_t bytes)
    {
        note(AllocAction::SegmentAlloc, address, bytes, kPool);
    }
    void alloc(std::uint64_t address, std::int64_t bytes, std::string_view path, OpId op,
               std::uint32_t pool = kPool)
    {
        note(AllocAction::Alloc, address, bytes, pool, path, op);
    }
    void free(std::uint64_t address, std::int64_t bytes)
    {
        note(AllocAction::FreeRequested, address, bytes, kPool);
        note(AllocAction::FreeCompleted, address, bytes, kPool);
    }

    FakeTrace trace_{strings};
    std::int64_t time_ = 0;
    std::int64_t savedAt_ = 0;
};

/// A block of the pool in the allocator's snapshot, with unknown owner.
MemoryBlock block(std::uint64_t address, std::int64_t bytes)
{
    return {.device = DeviceIndex{0}, .address = address, .bytes = bytes, .size = 512, .name = kGraphPool};
}

MemoryBlock attributed(MemoryBlock block)
{
    const Capture capture;
    attributeGraphPool(std::span(&block, 1), capture.step, capture.strings);
    return block;
}

} // namespace

TEST(GraphPool, SurvivingBlocksBelongToTheModuleAndOpThatRequestedThem)
{
    const MemoryBlock logits = attributed(block(0x10400, 512));
    EXPECT_EQ(logits.category, MemoryCategory::Temporaries) << "its owner is unknown";
    EXPECT_EQ(logits.name, "lm_head aten::mm (forward, pool of a CUDA graph)");
    const MemoryBlock loss = attributed(block(0x10600, 4));
    EXPECT_EQ(loss.name, "loss aten::nll_loss_forward (pool of a CUDA graph)");
    const MemoryBlock gradient = attributed(block(0x20000, 300));
    EXPECT_EQ(gradient.category, MemoryCategory::Gradients);
    EXPECT_EQ(gradient.name, "layers.0/ffn aten::mm (backward, pool of a CUDA graph)");
}

TEST(GraphPool, ASavedTensorThatOutlivesTheCaptureIsAnActivation)
{
    Capture capture;
    // Its backward was not captured, so the graph of forward still holds it.
    std::erase_if(capture.step.events, [](const AllocEvent& event) {
        return event.address == 0x10000 && event.action != AllocAction::Alloc &&
               event.action != AllocAction::SegmentAlloc;
    });
    MemoryBlock saved = block(0x10000, 1000);
    attributeGraphPool(std::span(&saved, 1), capture.step, capture.strings);
    EXPECT_EQ(saved.category, MemoryCategory::Activations);
}

TEST(GraphPool, BlocksNotAllocatedDuringTheCaptureStayUnattributed)
{
    const MemoryBlock freed = block(0x10000, 1000);
    const MemoryBlock otherSize = block(0x10400, 500);
    const MemoryBlock elsewhere = block(0x50000, 8);
    const MemoryBlock nobodys = block(0x20400, 32);
    for (const MemoryBlock& unknown : {freed, otherSize, elsewhere, nobodys})
        EXPECT_EQ(attributed(unknown), unknown) << std::hex << unknown.address;
}

TEST(GraphPool, OtherBlocksAreLeftAlone)
{
    MemoryBlock parameter = block(0x10400, 512);
    parameter.name = "layers.0/ffn/down";
    parameter.category = MemoryCategory::Parameters;
    MemoryBlock free = block(0x10400, 0);
    free.isFree = true;
    for (const MemoryBlock& other : {parameter, free, block(0x30000, 64), block(0x40000, 64)})
        EXPECT_EQ(attributed(other), other) << std::hex << other.address;
}

TEST(GraphPool, AReplayUsesThePeakOfTheCapture)
{
    const Capture capture;
    // 1000 saved, the logits, the loss, a gradient and what backward needs beside it.
    EXPECT_EQ(mostInGraphPools(capture.step), 1000 + 512 + 4 + 300 + 100);
    EXPECT_EQ(mostInGraphPools({}), std::nullopt);
}

} // namespace tilescope::analysis
