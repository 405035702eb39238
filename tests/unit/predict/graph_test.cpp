#include "core/predict/graph.h"

#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

Tensor made(Memory& memory, std::int64_t count)
{
    Tensor x{.count = count};
    x.storage = memory.make(x.bytes(), MemoryCategory::Temporaries, "x");
    return x;
}

TEST(PredictedMemory, IsGivenBackWithTheLastHandle)
{
    Memory memory(false, CachingAllocator::kNoLimit);
    Tensor a = made(memory, 100);
    {
        const Tensor view = a;
        EXPECT_TRUE(a.storage.isShared());
        a = {};
        EXPECT_EQ(memory.allocated(), 400);
    }
    EXPECT_EQ(memory.allocated(), 0);
    EXPECT_EQ(memory.peakAllocated(), 400);
}

TEST(PredictedMemory, ListsTheCategoriesOfThePeak)
{
    Memory memory(true, CachingAllocator::kNoLimit);
    const Storage weights = memory.make(1000, MemoryCategory::Parameters, "weights");
    memory.make(600, MemoryCategory::Temporaries, "gone");
    const auto& parts = memory.byCategoryAtPeak();
    EXPECT_EQ(memory.peakAllocated(), 2048);
    EXPECT_EQ(parts[static_cast<std::size_t>(MemoryCategory::Parameters)], 1000);
    EXPECT_EQ(parts[static_cast<std::size_t>(MemoryCategory::Temporaries)], 600);
    EXPECT_EQ(parts[static_cast<std::size_t>(MemoryCategory::Fragmentation)], 448);
}

TEST(PredictedGraph, HoldsWhatIsSavedUntilItsNodeHasRun)
{
    Memory memory(false, CachingAllocator::kNoLimit);
    Graph graph(memory);
    Leaves leaves{.gradients = std::vector<Tensor>(1)};
    Tensor x = made(memory, 10);
    Tensor y = made(memory, 10);
    y.origin = graph.record({{.leaf = 0}}, {&x}, [&memory, x](const Tensors&) -> Tensors {
        EXPECT_EQ(memory.byCategory()[static_cast<std::size_t>(MemoryCategory::Activations)], 40);
        return {made(memory, 10)};
    });
    x = {};
    EXPECT_EQ(memory.allocated(), 80);
    graph.run(y, made(memory, 10), leaves);
    y = {};
    EXPECT_EQ(memory.allocated(), 40) << "the gradient of the leaf stays";
    EXPECT_EQ(memory.byCategory()[static_cast<std::size_t>(MemoryCategory::Gradients)], 40);
}

TEST(PredictedGraph, AddsGradientsInPlaceUnlessOneIsShared)
{
    for (const bool isShared : {false, true}) {
        Memory memory(false, CachingAllocator::kNoLimit);
        Graph graph(memory);
        Leaves leaves{.gradients = std::vector<Tensor>(1)};
        Tensor x = made(memory, 10);
        x.origin = graph.record({{.leaf = 0}}, {}, [](const Tensors& g) -> Tensors { return {g[0]}; });
        const Tensor held = made(memory, 10);
        Tensor sum = made(memory, 10);
        sum.origin = graph.record({x.origin, x.origin}, {}, [&](const Tensors&) -> Tensors {
            return {isShared ? held : made(memory, 10), made(memory, 10)};
        });
        memory.resetPeaks();
        const std::int64_t before = memory.allocated();
        graph.run(sum, made(memory, 10), leaves);
        EXPECT_EQ(memory.peakAllocated() - before, isShared ? 80 : 120);
    }
}

} // namespace
} // namespace tilescope::predict
