#include "core/exchange/import/allocation_assembly.h"

#include "core/model/text.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tilescope::exchange {

namespace {

class AllocationAssembly : public ::testing::Test {
protected:
    void alloc(std::int64_t time, std::uint64_t address, std::int64_t bytes, std::string_view path = {},
               int process = 0, DeviceIndex device = {})
    {
        add({.time = timestampAt(time),
             .action = AllocAction::Alloc,
             .device = device,
             .address = address,
             .bytes = bytes,
             .allocated = -1,
             .path = path.empty() ? StringId{} : strings_.intern(path)},
            process);
    }
    void free(std::int64_t time, std::uint64_t address, int process = 0)
    {
        add({.time = timestampAt(time),
             .action = AllocAction::FreeCompleted,
             .address = address,
             .allocated = -1},
            process);
    }
    void add(const AllocEvent& event, int process) { events_.push_back({event, ProcessIndex{process}}); }
    void mark(std::int64_t time, PhaseMark::Kind kind) { marks_.push_back({time, ProcessIndex{0}, kind}); }

    std::vector<AllocEvent> completed()
    {
        return completeAllocations(std::move(events_), held_, marks_, strings_);
    }
    /// Category of the allocation at each address.
    std::map<std::uint64_t, std::string> categories()
    {
        std::map<std::uint64_t, std::string> words;
        for (const AllocEvent& event : completed())
            if (event.action == AllocAction::Alloc)
                words[event.address] = event.category ? std::string(strings_.text(event.category)) : "none";
        return words;
    }

    StringTable strings_;
    std::vector<ForeignAllocation> events_;
    std::vector<ForeignHeld> held_;
    std::vector<PhaseMark> marks_;
};

TEST_F(AllocationAssembly, FindsTotalsAndTheSizesOfFrees)
{
    alloc(1, 100, 64);
    alloc(2, 200, 32);
    free(3, 100);
    free(4, 999); // allocated before the recording
    const std::vector<AllocEvent> events = completed();
    ASSERT_EQ(events.size(), 3U);
    EXPECT_EQ(events[1].allocated, 96);
    EXPECT_EQ(events[2].bytes, 64);
    EXPECT_EQ(events[2].allocated, 32);
}

TEST_F(AllocationAssembly, KeepsTotalsThatTheEventsHave)
{
    alloc(1, 100, 64);
    events_.back().event.allocated = 1000;
    free(2, 777);
    events_.back().event.allocated = 900;
    const std::vector<AllocEvent> events = completed();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].allocated, 900);
}

TEST_F(AllocationAssembly, AddsUpTheProcessesOfADevice)
{
    alloc(1, 100, 64, {}, 0);
    alloc(2, 100, 32, {}, 1);
    free(3, 100, 0);
    const std::vector<AllocEvent> events = completed();
    ASSERT_EQ(events.size(), 3U);
    EXPECT_NE(events[0].address, events[1].address);
    EXPECT_EQ(events[1].allocated, 96);
    EXPECT_EQ(events[2].allocated, 32);
    EXPECT_EQ(events[2].bytes, 64);
}

TEST_F(AllocationAssembly, TellsTheUseOfBlocksFromThePhasesThatTheyOutlive)
{
    alloc(1, 1, 8); // parameter
    held_.push_back({.process = ProcessIndex{0},
                     .storage = {.time = timestampAt(2),
                                 .category = MemoryCategory::Parameters,
                                 .address = 1,
                                 .bytes = 8,
                                 .name = "Model/layers.0 weight"}});
    alloc(3, 2, 8, "step"); // input
    mark(4, PhaseMark::Kind::ForwardBegins);
    alloc(5, 3, 8, "step/forward/Model/layers.0"); // activation
    alloc(6, 4, 8, "step/forward/Model/layers.0"); // temporary
    free(7, 4);
    mark(8, PhaseMark::Kind::BackwardBegins);
    alloc(9, 5, 8, "step/backward/Model/layers.0"); // gradient
    alloc(10, 6, 8, "step/backward/Model");         // temporary
    free(11, 6);
    free(12, 3);
    mark(13, PhaseMark::Kind::OptimizerBegins);
    alloc(14, 7, 8, "step/optimizer"); // its state
    alloc(15, 8, 8, "step/optimizer"); // temporary
    free(16, 8);
    mark(17, PhaseMark::Kind::OptimizerEnds);
    EXPECT_EQ(categories(), (std::map<std::uint64_t, std::string>{{1, "parameters"},
                                                                  {2, "inputs"},
                                                                  {3, "activations"},
                                                                  {4, "temporaries"},
                                                                  {5, "gradients"},
                                                                  {6, "temporaries"},
                                                                  {7, "optimizer"},
                                                                  {8, "temporaries"}}));
}

TEST_F(AllocationAssembly, CountsBucketsOfDataParallelModulesAsGradients)
{
    std::uint64_t input = 100;
    for (std::int64_t step = 0, time = 0; step < 4; ++step, time += 100) {
        if (step > 0)
            free(time + 1, input);
        alloc(time + 2, ++input, 8, "step");
        mark(time + 3, PhaseMark::Kind::ForwardBegins);
        if (step == 1) {
            alloc(time + 4, 1, 64, "step/forward/DistributedDataParallel");                // bucket
            alloc(time + 5, 2, 8, "step/forward/DistributedDataParallel/module/rotation"); // cache
        }
        alloc(time + 6, 3, 8, "step/forward/DistributedDataParallel/module/0");
        alloc(time + 7, 4, 8, "step/forward/DistributedDataParallel"); // its output
        mark(time + 8, PhaseMark::Kind::BackwardBegins);
        free(time + 9, 4);
        free(time + 10, 3);
        mark(time + 11, PhaseMark::Kind::OptimizerBegins);
        mark(time + 12, PhaseMark::Kind::OptimizerEnds);
    }
    EXPECT_EQ(categories(), (std::map<std::uint64_t, std::string>{{1, "gradients"},
                                                                  {2, "activations"},
                                                                  {3, "activations"},
                                                                  {4, "activations"},
                                                                  {101, "inputs"},
                                                                  {102, "inputs"},
                                                                  {103, "inputs"},
                                                                  {104, "inputs"}}));
}

TEST_F(AllocationAssembly, GivesFreesTheCategoryOfTheirBlock)
{
    alloc(1, 3, 8, "step/forward/Model");
    mark(2, PhaseMark::Kind::BackwardBegins);
    free(3, 3);
    const std::vector<AllocEvent> events = completed();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(strings_.text(events[1].category), "activations");
}

TEST_F(AllocationAssembly, NamesBlocksThatNoRangeAllocatedByTheirTensors)
{
    alloc(1, 1, 8);
    held_.push_back({.process = ProcessIndex{0},
                     .storage = {.time = timestampAt(2),
                                 .category = MemoryCategory::Parameters,
                                 .address = 1,
                                 .bytes = 8,
                                 .name = "Model/layers.0 weight"}});
    EXPECT_EQ(strings_.text(completed()[0].path), "setup/parameters/Model/layers.0 weight");
}

TEST_F(AllocationAssembly, GivesNoCategoriesWhereNothingIsKnown)
{
    alloc(1, 1, 8, "step");
    EXPECT_EQ(categories(), (std::map<std::uint64_t, std::string>{{1, "none"}}));
}

} // namespace

} // namespace tilescope::exchange
