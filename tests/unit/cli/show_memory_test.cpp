// The output of `tilescope show` about memory.

#include "core/store/run_reader.h"
#include "tests/unit/cli/show_fixture.h"

namespace tilescope::cli {

TEST_F(Show, MemoryEventsGroupsAndAllocatedBlocks)
{
    const json events = valid({"memory", "--run", "1"}, "memory");
    ASSERT_EQ(events.size(), 6u);
    EXPECT_EQ(events[0]["t_ns"], 2);
    const store::RunReader reader(file());
    const std::int64_t first = (reader.span(RunId{1})->first - reader.runs().front().clockOrigin).count();
    for (const json& event : events)
        EXPECT_EQ(event["start_ns"], event["t_ns"].get<std::int64_t>() + first);
    EXPECT_EQ(events[0]["allocated"], 1512);
    EXPECT_EQ(events[0]["category"], "activations");
    const json groups = valid({"memory", "--run", "1", "--group", "category"}, "memory-groups");
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[0]["key"], "parameters");
    EXPECT_EQ(groups[0]["at_peak"], 900);
    EXPECT_EQ(groups[0]["allocations"], 0) << "allocated before the trace";
    EXPECT_EQ(groups[1]["key"], "activations");
    EXPECT_EQ(groups[1]["at_peak"], 512);
    EXPECT_EQ(groups[1]["allocations"], 2);
    EXPECT_EQ(groups[2]["key"], "unattributed") << "of the 1000 bytes that the allocator counted before";
    EXPECT_EQ(groups[2]["at_peak"], 100);
    const json live = valid({"memory", "--run", "1", "--at", "peak"}, "memory-live");
    ASSERT_EQ(live.size(), 2u);
    EXPECT_EQ(live[0]["bytes"], 900);
    EXPECT_EQ(live[0]["name"], "layers.0/ffn/down");
    EXPECT_EQ(live[0]["category"], "parameters");
    EXPECT_TRUE(live[0]["t_ns"].is_null());
    EXPECT_EQ(live[1]["bytes"], 512);
    EXPECT_EQ(live[1]["category"], "activations");
    EXPECT_EQ(live[1]["path"], "step/forward/attention");
    EXPECT_EQ(live[1]["code"], "core/engine/lm/lm.cpp:199");
    EXPECT_TRUE(live[0]["code"].is_null());
    EXPECT_EQ(valid({"memory", "--run", "1", "--at", "90"}, "memory-live").size(), 1u);
    EXPECT_EQ(valid({"memory", "--run", "2"}, "memory"), json::array());
}

TEST_F(Show, MemoryBeforeAndAfterStepsPhasesAndModules)
{
    const auto rowOf = [](const json& rows, const std::string& key) {
        for (const json& row : rows)
            if (row["key"] == key)
                return row;
        ADD_FAILURE() << "no row " << key << " in " << rows;
        return json();
    };
    const json steps = valid({"memory", "--run", "1", "--group", "step"}, "memory-groups");
    const json second = rowOf(steps, "step 1");
    EXPECT_EQ(second["before"], 1000);
    EXPECT_EQ(second["after"], 1000) << "it frees everything";
    EXPECT_EQ(second["peak"], 1512);
    EXPECT_EQ(second["churn"], 512);
    EXPECT_EQ(second["allocations"], 1);
    EXPECT_TRUE(rowOf(steps, "before the trace")["peak"].is_null());
    const json phases = valid({"memory", "--run", "1", "--group", "phase"}, "memory-groups");
    EXPECT_EQ(rowOf(phases, "forward")["after"], 1512);
    EXPECT_EQ(rowOf(phases, "backward")["before"], 1512);
    EXPECT_EQ(rowOf(phases, "backward")["after"], 1000);
    EXPECT_EQ(rowOf(phases, "backward")["churn"], 0);
    EXPECT_EQ(rowOf(phases, "backward")["at_peak"], 0) << "it allocates nothing itself";
    const json modules = valid({"memory", "--run", "1", "--group", "module"}, "memory-groups");
    EXPECT_EQ(rowOf(modules, "attention")["before"], 1000);
    EXPECT_EQ(rowOf(modules, "attention")["after"], 1512);
    const json ever = valid({"memory", "--run", "1", "--at", "ever"}, "memory-live");
    ASSERT_EQ(ever.size(), 3u);
    EXPECT_EQ(ever[0]["bytes"], 900);
    EXPECT_EQ(ever[2]["bytes"], 512);
}

TEST_F(Show, OutOfMemoryShowsAllRecordedFigures)
{
    const json report = valid({"oom", "--run", "3"}, "oom");
    ASSERT_EQ(report.size(), 1u);
    EXPECT_EQ(report[0]["requested"], 1 << 30);
    EXPECT_EQ(report[0]["phase"], "forward");
    EXPECT_TRUE(report[0]["op"].is_null()) << "no step was recorded";
    EXPECT_EQ(report[0]["holders"], json::array());
    EXPECT_EQ(report[0]["suggestions"], json::array()) << "the spec has unknown keys";
    EXPECT_THAT(run({"oom", "--run", "3"}), HasSubstr("none of the changes tried makes it fit"));
    EXPECT_THAT(run({"oom", "--run", "3"}), HasSubstr("forward asked for 1.00 GiB with 1.00 MiB allocated"));
    EXPECT_EQ(valid({"oom", "--run", "1"}, "oom"), json::array());
    EXPECT_THAT(run({"oom", "--run", "1"}), HasSubstr("did not run out of memory"));
}

TEST_F(Show, SavedTensorsAreCountedOncePerStorage)
{
    const json saved = valid({"saved", "--run", "1"}, "saved");
    ASSERT_EQ(saved.size(), 3u);
    EXPECT_EQ(saved[0]["op"], "aten::mm");
    EXPECT_TRUE(saved[0]["shared_with"].is_null());
    EXPECT_EQ(saved[0]["from_ns"], 2);
    EXPECT_TRUE(saved[0]["to_ns"].is_null());
    EXPECT_EQ(saved[1]["shared_with"], 0);
    EXPECT_EQ(saved[2]["category"], "parameters");
    const json layers = valid({"saved", "--run", "1", "--group", "layer"}, "saved-groups");
    ASSERT_EQ(layers.size(), 2u);
    EXPECT_EQ(layers[0]["key"], "layers.0");
    EXPECT_EQ(layers[0]["activations"], 512);
    EXPECT_EQ(layers[0]["others"], 900);
    EXPECT_EQ(layers[1]["key"], "norm");
    EXPECT_EQ(layers[1]["activations"], 0) << "shared with a tensor of layers.0";
    EXPECT_EQ(valid({"saved", "--run", "1", "--range", "**/norm"}, "saved").size(), 1u);
    EXPECT_THAT(run({"saved", "--run", "2"}), HasSubstr("has no list of the tensors that backward needs"));
}

TEST_F(Show, MemoryOfReplayedStepsIsThatOfTheirGraph)
{
    const testing::TemporaryFolder folder;
    const std::string path = (folder / "graph.tscope").string();
    {
        StringTable strings;
        store::RunWriter writer(path, strings);
        writer.beginRun({"g", "lm", R"({"workload":"lm","compile":"graph"})", "h", "Tilescope test"});
        MemoryFacts facts;
        const DeviceIndex device{0};
        facts.segments = {{.device = device, .address = 0, .bytes = 4096},
                          {.device = device, .address = 8192, .bytes = 2048, .pool = 1}};
        facts.blocks = {
            {.device = device,
             .bytes = 4000,
             .size = 4096,
             .category = MemoryCategory::Parameters,
             .name = "embedding"},
            {.device = device, .address = 8192, .bytes = 500, .size = 512, .name = "pool of a CUDA graph"},
            {.device = device,
             .address = 8704,
             .bytes = 512,
             .size = 512,
             .category = MemoryCategory::Temporaries,
             .name = "lm_head aten::mm (forward, pool of a CUDA graph)"},
            {.device = device, .address = 9216, .size = 1024, .isFree = true}};
        facts.readings = {{.device = device, .moment = "before set-up", .process = 1 << 20},
                          {.device = device, .moment = kReplayMoment, .requested = 1500},
                          {.device = device, .moment = "trace begins", .reserved = 6144, .process = 3 << 20}};
        writer.writeMemory(facts);
        writer.endRun(okResult("cuda:0"));
    }
    const auto of = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {path, "memory"});
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        return out.str();
    };
    const json groups = json::parse(of({"--group", "category", "--format", "json"}));
    std::map<std::string, std::int64_t> atPeak;
    for (const json& row : groups)
        atPeak[row["key"]] = row["at_peak"];
    EXPECT_EQ(atPeak, (std::map<std::string, std::int64_t>{{"parameters", 4000},
                                                           {"unattributed", 500},
                                                           {"temporaries", 512},
                                                           {"fragmentation", 96 + 12 + 1024},
                                                           {"context", (3 << 20) - 6144}}));
    const std::string text = of({"--group", "category"});
    EXPECT_THAT(text, HasSubstr("4.89 KiB allocated, 6.00 KiB reserved, 0 ns after the first event"));
    EXPECT_THAT(text,
                HasSubstr(" lies in the private pool of a CUDA graph, where each replay works in 1.46 KiB at "
                          "most without allocating"));
    EXPECT_THAT(text, HasSubstr("500 B of it is unattributed: the capture was not seen to allocate it."));
    EXPECT_THAT(
        text, HasSubstr("by NVML's count of this process (CUDA context, modules, libraries), 1.00 MiB of it "
                        "before the run made anything"));
    EXPECT_THAT(of({"--at", "peak"}), HasSubstr("pool of a CUDA graph"));
    EXPECT_THAT(of({"--names"}), HasSubstr("embedding"));
}

TEST_F(Show, MemoryOutsideTheAllocatorIsShownOrMarkedNotMeasured)
{
    EXPECT_THAT(run({"memory", "--run", "1", "--group", "category"}),
                HasSubstr("Outside the allocator: not measured (neither NVML nor the driver reports it)."));
}

} // namespace tilescope::cli
