#include "core/session/engine/memory_labeller.h"

#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::session {

namespace {

using ::testing::ElementsAre;
using tilescope::testing::FakeTrace;

std::vector<std::string> categoriesOf(const TraceBatch& batch, const StringTable& strings)
{
    std::vector<std::string> words;
    for (const AllocEvent& event : batch.allocEvents)
        words.emplace_back(strings.text(event.category));
    return words;
}

} // namespace

TEST(MemoryLabeller, SetUpIsForTheTensorsThatItsRangesName)
{
    StringTable strings;
    FakeTrace trace(strings);
    trace.alloc(1, 100, 10).at("setup/parameters/layers.0/ffn/down");
    trace.alloc(2, 100, 11).at("setup/optimizer/layers.0/ffn/down first moment");
    trace.alloc(3, 8, 12).at("setup/inputs/tokens");
    trace.alloc(4, 8, 13).at("setup").free(4, 8, 14);
    TraceBatch batch = trace.batch();
    MemoryLabeller labeller(strings);
    labeller.label(batch);
    EXPECT_THAT(categoriesOf(batch, strings), ElementsAre("parameters", "optimizer", "inputs", "temporaries",
                                                          "temporaries", "temporaries"));
    EXPECT_TRUE(batch.losses.empty()) << "nothing was to be reference";
}

TEST(MemoryLabeller, BlocksOfAGraphsPoolAreWhatItsCaptureMadeThem)
{
    StringTable strings;
    MemoryLabeller labeller(strings);
    MemoryFacts facts;
    facts.captured.events = {{.time = timestampAt(5),
                              .action = AllocAction::Alloc,
                              .device = DeviceIndex{1},
                              .address = 64,
                              .bytes = 20,
                              .reserved = 4096,
                              .pool = 2,
                              .path = strings.intern("step/forward/lm_head")}};
    labeller.learn(std::move(facts));
    MemoryFacts stock;
    stock.blocks = {{.device = DeviceIndex{1}, .address = 64, .bytes = 20, .size = 512, .name = kGraphPool},
                    {.device = DeviceIndex{1}, .address = 576, .bytes = 30, .size = 512, .name = kGraphPool}};
    labeller.learn(std::move(stock));
    const MemoryFacts learnt = labeller.facts();
    ASSERT_EQ(learnt.blocks.size(), 2u);
    EXPECT_EQ(learnt.blocks[0].category, MemoryCategory::Temporaries);
    EXPECT_EQ(learnt.blocks[0].name, "lm_head (forward, pool of a CUDA graph)");
    EXPECT_EQ(learnt.blocks[1].category, MemoryCategory::Unattributed);
    ASSERT_EQ(learnt.readings.size(), 1u);
    EXPECT_EQ(learnt.readings[0].moment, kReplayMoment);
    EXPECT_EQ(learnt.readings[0].requested, 20);
    EXPECT_EQ(learnt.readings[0].device, DeviceIndex{1});
    EXPECT_TRUE(learnt.captured.events.empty()) << "only what was learnt from the capture is kept";
}

} // namespace tilescope::session
