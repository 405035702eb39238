#include "core/exchange/memory/memory_columns.h"

#include "tests/support/fake_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::exchange {
namespace {

TEST(MemoryColumns, ABlockIsNamedByItsTensorOtherwiseByWhatRequestedIt)
{
    testing::FakeMemory memory;
    memory.step(1, 5, 100).older(9, 8, "layers.0/ffn/down").older(8, 4, "");
    memory.op("aten::mm", "f32[8]").alloc(1, 30, 20, "step/forward/layers.3/ffn");
    memory.op("", "").alloc(2, 20, 30, "step/backward", MemoryCategory::Gradients);
    memory.op("aten::add", "").alloc(3, 4, 40, "").free(3, 60);
    const auto history = memory.history(query::MemoryParts::WithoutOps);
    const auto ops = memory.ops(*history);
    std::map<std::uint64_t, std::string> names;
    std::map<std::uint64_t, std::string> withoutOps;
    for (const query::MemoryLife& block : history->blocks) {
        names[block.address] = nameOf(*history, block, ops.get());
        withoutOps[block.address] = nameOf(*history, block);
    }
    EXPECT_EQ(names[9], "layers.0/ffn/down");
    EXPECT_EQ(names[8], "parameters") << "nothing else is known of it";
    EXPECT_EQ(names[1], "layers.3/ffn mm");
    EXPECT_EQ(names[2], "backward") << "no op requested it";
    EXPECT_EQ(names[3], "add");
    EXPECT_EQ(withoutOps[1], "layers.3/ffn");
    EXPECT_EQ(withoutOps[3], "activations");
}

TEST(MemoryColumns, TimesCountFromTheOriginAndOpsMayBeReadLater)
{
    testing::FakeMemory memory;
    memory.step(1, 5, 100).older(9, 8, "bias");
    memory.op("aten::mm", "f32[8]").alloc(1, 30, 20, "step/forward").free(1, 60);
    const auto whole = memory.history();
    const auto history = memory.history(query::MemoryParts::WithoutOps);
    const auto ops = memory.ops(*history);
    const MemoryBlockColumns early(*history);
    const MemoryBlockColumns late(*history, ops.get(), 5);
    const MemoryBlockColumns complete(*whole);
    ASSERT_EQ(history->blocks.size(), 2U);
    const std::uint32_t older = history->blocks[0].isOlder() ? 0 : 1;
    const std::uint32_t block = 1 - older;
    const auto isNull = [](const Cell& cell) { return std::holds_alternative<std::monostate>(cell); };
    EXPECT_TRUE(isNull(early.op.value(block)));
    for (const auto* columns : {&late, &complete}) {
        EXPECT_EQ(std::get<std::string>(columns->op.value(block)), "aten::mm");
        EXPECT_EQ(std::get<std::string>(columns->shape.value(block)), "f32[8]");
    }
    EXPECT_EQ(std::get<std::int64_t>(early.since.value(block)) - 5,
              std::get<std::int64_t>(late.since.value(block)));
    EXPECT_TRUE(isNull(late.since.value(older)));
    EXPECT_TRUE(isNull(late.lifetime.value(older))) << "it was there before the trace";
    EXPECT_EQ(std::get<std::int64_t>(late.lifetime.value(block)),
              history->blocks[block].end - history->blocks[block].begin);
}

} // namespace
} // namespace tilescope::exchange
