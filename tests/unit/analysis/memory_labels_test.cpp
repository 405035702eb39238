#include "core/analysis/memory/memory_labels.h"

#include "tests/support/fake_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

using ::testing::ElementsAre;
using tilescope::testing::FakeTrace;

HeldStorage held(MemoryCategory category, std::uint64_t address, std::int64_t time)
{
    return {.time = timestampAt(time), .category = category, .address = address, .bytes = 8};
}

SavedTensor savedAt(std::uint64_t address, std::int64_t time)
{
    return {.address = address, .storageBytes = 8, .time = timestampAt(time)};
}

std::vector<MemoryCategory> categoriesOf(const FakeTrace& trace, const std::vector<HeldStorage>& holders,
                                         const std::vector<SavedTensor>& saved = {})
{
    std::vector<MemoryCategory> categories;
    const auto& events = trace.batch().allocEvents;
    const auto uses = allocationUses(events, holders, saved);
    for (std::size_t i = 0; i < uses.size(); ++i)
        if (events[i].action == AllocAction::Alloc)
            categories.push_back(uses[i].category);
    return categories;
}

/// One step: an activation of 8 bytes, a temporary of as many in the same range, a gradient.
FakeTrace stepOf(StringTable& strings, std::int32_t step, std::int64_t begin, std::uint64_t addresses)
{
    FakeTrace trace(strings);
    trace.step(step, begin, begin + 100);
    trace.alloc(addresses + 1, 8, begin + 1).at("step/forward/ffn");
    trace.alloc(addresses + 2, 8, begin + 2).at("step/forward/ffn");
    trace.free(addresses + 2, 8, begin + 3);
    trace.alloc(addresses + 3, 16, begin + 11).at("step/backward/ffn");
    trace.free(addresses + 1, 8, begin + 12);
    return trace;
}

MemoryFacts referenceStep(StringTable& strings)
{
    MemoryFacts facts;
    facts.reference = stepOf(strings, 0, 0, 100).batch().allocEvents;
    facts.saved = {savedAt(101, 10)};
    facts.held = {held(MemoryCategory::Gradients, 103, 20)};
    return facts;
}

std::vector<std::string> wordsOf(const FakeTrace& trace, MemoryLabels& labels, StringTable& strings)
{
    std::vector<AllocEvent> events = trace.batch().allocEvents;
    labels.label(events);
    std::vector<std::string> words;
    for (const AllocEvent& event : events)
        words.emplace_back(strings.text(event.category));
    return words;
}

} // namespace

TEST(AllocationUses, ABlockHasTheUseItHadDuringItsLifetime)
{
    FakeTrace trace;
    trace.alloc(1, 8, 10).at("step/forward").free(1, 8, 20);
    trace.alloc(1, 8, 30).at("step/forward").free(1, 8, 40);
    trace.alloc(1, 8, 50).at("step/forward");
    using enum MemoryCategory;
    EXPECT_THAT(categoriesOf(trace, {held(Gradients, 1, 35)}),
                ElementsAre(Temporaries, Gradients, Temporaries));
    EXPECT_THAT(categoriesOf(trace, {held(Gradients, 1, 40)}),
                ElementsAre(Temporaries, Temporaries, Temporaries))
        << "freed at that very moment";
    EXPECT_THAT(categoriesOf(trace, {held(Inputs, 1, 99)}, {savedAt(1, 15)}),
                ElementsAre(Activations, Temporaries, Inputs));
}

TEST(AllocationUses, ASavedParameterStaysAParameter)
{
    FakeTrace trace;
    trace.alloc(1, 8, 10).at("step/forward");
    using enum MemoryCategory;
    EXPECT_THAT(categoriesOf(trace, {held(Parameters, 1, 20)}, {savedAt(1, 20)}), ElementsAre(Parameters));
    EXPECT_THAT(categoriesOf(trace, {held(Gradients, 1, 20), held(Parameters, 1, 21)}),
                ElementsAre(Parameters));
}

TEST(AllocationUses, AllocationsOutsideRangesAreUnattributed)
{
    FakeTrace trace;
    trace.alloc(1, 8, 10).alloc(2, 8, 11).at("trace");
    using enum MemoryCategory;
    EXPECT_THAT(categoriesOf(trace, {}), ElementsAre(Unattributed, Temporaries));
}

TEST(MemoryLabels, AStepsAllocationsHaveTheUsesOfTheReferenceStep)
{
    StringTable strings;
    MemoryLabels labels(strings);
    labels.learn(referenceStep(strings));
    for (const std::int32_t step : {0, 1})
        EXPECT_THAT(wordsOf(stepOf(strings, step, 1000 * (step + 1), 500), labels, strings),
                    ElementsAre("activations", "temporaries", "temporaries", "temporaries", "gradients",
                                "activations", "activations"));
    EXPECT_EQ(labels.unmatched(), 0);
    ASSERT_EQ(labels.savedTensors().size(), 1u);
    EXPECT_EQ(labels.savedTensors()[0].from, timestampAt(1001)) << "from the first traced step";
    EXPECT_EQ(labels.savedTensors()[0].to, timestampAt(1012));
}

TEST(MemoryLabels, FreesOfOlderBlocksGetTheUseOfTheirBlock)
{
    StringTable strings;
    MemoryLabels labels(strings);
    labels.begin(std::vector<MemoryBlock>{
        {.address = 7, .bytes = 8, .category = MemoryCategory::Gradients},
        {.address = 8, .bytes = 0, .isFree = true, .category = MemoryCategory::Parameters}});
    FakeTrace trace(strings);
    trace.free(7, 8, 10).free(8, 8, 20);
    EXPECT_THAT(wordsOf(trace, labels, strings),
                ElementsAre("gradients", "gradients", "unattributed", "unattributed"));
}

TEST(MemoryLabels, AllocationsThatTheReferenceStepLacksAreCountedAndTemporary)
{
    StringTable strings;
    MemoryLabels labels(strings);
    labels.learn(referenceStep(strings));
    FakeTrace trace(strings);
    trace.step(0, 1000, 1100).alloc(1, 24, 1001).at("step/forward/ffn");
    for (std::uint64_t i = 0; i < 3; ++i)
        trace.alloc(10 + i, 8, 1002).at("step/forward/ffn");
    EXPECT_THAT(wordsOf(trace, labels, strings),
                ElementsAre("temporaries", "activations", "temporaries", "temporaries"));
    EXPECT_EQ(labels.unmatched(), 2) << "one with another size and one extra";
}

TEST(MemoryLabels, AnEventWithoutAnOpGetsThatOfTheReferenceStep)
{
    StringTable strings;
    MemoryFacts facts = referenceStep(strings);
    facts.reference[0].op = OpId{42};
    MemoryLabels labels(strings);
    labels.learn(facts);
    std::vector<AllocEvent> events = stepOf(strings, 0, 1000, 500).batch().allocEvents;
    events[1].op = OpId{3};
    labels.label(events);
    EXPECT_EQ(events[0].op, OpId{42});
    EXPECT_EQ(events[1].op, OpId{3});
}

} // namespace tilescope::analysis
