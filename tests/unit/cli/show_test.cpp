#include "app/cli/show.h"

#include "core/base/error.h"
#include "core/model/memory.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/json_schema.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace tilescope::cli {

namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::FakeTrace;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGemm = "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT";
constexpr const char* kSoftmax = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, "
                                 "false, false>(float*, float const*, int, "
                                 "int, int, bool const*, int, bool)";

/// Two traced steps of a GPU run: 100 ns each, in which a matmul and a softmax run.
FakeTrace gpuTrace()
{
    FakeTrace trace;
    trace.alreadyAllocated(1000);
    for (int step = 0; step < 2; ++step) {
        const std::int64_t t = 1000 + 100 * step;
        trace.step(step, t, t + 100).range("step/forward", t, t + 60);
        trace.range("step/forward/attention", t, t + 50).range("step/backward", t + 60, t + 100);
        trace.op("aten::mm", t + 1, t + 9).at("step/forward/attention");
        trace.kernel(kGemm, t + 10, t + 40).at("step/forward/attention").launchedAt(t + 5).by(trace.lastOp());
        trace.kernel(kSoftmax, t + 40, t + 50).at("step/forward/attention").launchedAt(t + 6);
        trace.kernel(kGemm, t + 70, t + 90).at("step/backward/attention").launchedAt(t + 65);
        trace.alloc(16 * (step + 1), 512, t + 2).category("activations").at("step/forward/attention");
        trace.free(16 * (step + 1), 512, t + 80);
    }
    trace.betweenSteps().memset(64, 1300, 1310).checked(42);
    return trace;
}

RunResult okResult(std::string device)
{
    RunResult result;
    result.device = std::move(device);
    result.parameters = 128'625'408;
    result.beforeBackward = Bytes{2048};
    result.peakAllocated = Bytes{4096};
    result.peakReserved = Bytes{8192};
    result.traceOverhead = 1.25;
    result.loss = 9.21;
    result.flags = {"throttled"};
    result.duration = Nanoseconds(1'500'000'000);
    return result;
}

std::vector<Sample> samplesOf(bool gpu)
{
    std::vector<Sample> samples;
    const auto add = [&](SampleKind kind, int step, Phase phase, std::int64_t ms) {
        samples.push_back({step, kind, phase, Nanoseconds(ms * 1'000'000),
                           gpu ? std::optional(Nanoseconds(ms * 900'000)) : std::nullopt});
    };
    add(SampleKind::Warmup, 0, Phase::Step, 50);
    for (int step = 0; step < 3; ++step) {
        add(SampleKind::Measure, step, Phase::Step, 10 + 2 * step);
        add(SampleKind::Measure, step, Phase::Forward, 4);
    }
    return samples;
}

/// What was there before the GPU's trace, and what its forward pass kept.
MemoryFacts memoryOf(const FakeTrace& trace)
{
    MemoryFacts facts;
    const Timestamp before = trace.batch().allocEvents.front().time - Nanoseconds(1);
    facts.blocks.push_back({.time = before,
                            .device = DeviceIndex{0},
                            .address = 9000,
                            .bytes = 900,
                            .size = 1024,
                            .category = MemoryCategory::Parameters,
                            .name = "layers.0/ffn/down",
                            .shape = "[15, 15]",
                            .dtype = "f32"});
    facts.saved.push_back({.path = "step/forward/layers.0/ffn",
                           .op = "aten::mm",
                           .tensor = "of aten::mul",
                           .shape = "[16, 8]",
                           .dtype = "f32",
                           .bytes = 512,
                           .address = 1,
                           .storageBytes = 512,
                           .time = before,
                           .from = before + Nanoseconds(1)});
    facts.saved.push_back(facts.saved.front());
    facts.saved.back().sharedWith = 0;
    facts.saved.back().path = "step/forward/norm";
    facts.saved.push_back({.path = "step/forward/layers.0/ffn",
                           .op = "aten::mm",
                           .tensor = "layers.0/ffn/down",
                           .shape = "[15, 15]",
                           .dtype = "f32",
                           .bytes = 900,
                           .address = 9000,
                           .storageBytes = 900,
                           .category = MemoryCategory::Parameters,
                           .time = before});
    return facts;
}

class Show : public ::testing::Test {
protected:
    /// Run 1: two traced steps on a GPU. Run 2: ops on a CPU, and a loss. Run 3: out of memory.
    Show()
    {
        FakeTrace gpu = gpuTrace();
        store::RunWriter writer(file(), gpu.strings());
        writer.beginRun(
            {"lm \x1b[31mred", "lm", R"({"workload":"lm","size":"small"})", "h1", "Tilescope test"});
        writer.writeEnvironment(
            std::vector<EnvironmentEntry>{{"cpu", "some CPU", ""}, {"memory", "64", "GiB"}});
        writer.writeSamples(samplesOf(true));
        writer.write(gpu.batch());
        writer.writeMemory(memoryOf(gpu));
        writer.endRun(okResult("cuda:0"));

        FakeTrace cpu(gpu.strings());
        cpu.step(0, 5000, 5100).range("step/forward", 5000, 5080);
        cpu.op("aten::matmul", 5010, 5050).at("step/forward");
        cpu.op("aten::mm", 5015, 5045, cpu.lastOp()).at("step/forward");
        cpu.loss("ring_overflow", LossSeverity::Warning, 7).checked(5);
        writer.beginRun({"tiny", "lm", R"({"workload":"lm","size":"tiny"})", "h2", "Tilescope test"});
        writer.writeSamples(samplesOf(false));
        writer.write(cpu.batch());
        writer.endRun(okResult("cpu"));

        writer.beginRun(
            {"big", "attention", R"({"workload":"attention","seq_len":65536})", "h3", "Tilescope test"});
        RunResult oom;
        oom.status = RunStatus::Oom;
        oom.reason = "out of memory in forward";
        oom.device = "cuda:0";
        oom.oom = OomInfo{Bytes{1 << 30}, Bytes{1 << 20}, {}, "forward"};
        writer.endRun(oom);
    }

    std::string file() const { return (folder_ / "a.tscope").string(); }

    std::string run(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), file());
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        return out.str();
    }

    /// The section as JSON, checked against its schema.
    json valid(std::vector<std::string> arguments, const std::string& schema) const
    {
        arguments.insert(arguments.end(), {"--format", "json"});
        const std::string text = run(std::move(arguments));
        EXPECT_THAT(testing::schemaOffences(text, std::string(TILESCOPE_SOURCE_DIR) +
                                                      "/resources/schema/show-" + schema + ".schema.json"),
                    IsEmpty())
            << text;
        return json::parse(text);
    }

    std::string errorOf(std::vector<std::string> arguments) const
    {
        std::ostringstream out;
        try {
            show(arguments, out);
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            EXPECT_EQ(out.str(), "");
            return error.sentence();
        }
        return "no error; printed " + out.str();
    }

private:
    testing::TemporaryFolder folder_;
};

} // namespace

TEST_F(Show, RunsAsJsonKeepTheContract)
{
    const json runs = valid({"runs"}, "runs");
    ASSERT_EQ(runs.size(), 3u);
    EXPECT_EQ(runs[0]["status"], "ok");
    EXPECT_EQ(runs[0]["params"]["size"], "small");
    EXPECT_EQ(runs[0]["step_ms"]["median"], 12.0);
    EXPECT_EQ(runs[0]["step_ms"]["mean"], 12.0);
    EXPECT_EQ(runs[0]["step_ms"]["std"], 2.0);
    EXPECT_EQ(runs[0]["step_ms"]["n"], 3);
    EXPECT_EQ(runs[0]["phases"]["forward"]["wall_ms"]["max"], 4.0);
    EXPECT_EQ(runs[0]["phases"]["forward"]["gpu_ms"]["max"], 3.6);
    EXPECT_EQ(runs[0]["warmup_ms"], json::array({50.0}));
    EXPECT_EQ(runs[0]["flags"], json::array({"throttled"}));
    EXPECT_EQ(runs[0]["seconds"], 1.5);
    EXPECT_TRUE(runs[1]["phases"]["step"]["gpu_ms"].is_null());
    EXPECT_EQ(runs[2]["status"], "oom");
    EXPECT_EQ(runs[2]["oom"]["requested"], 1 << 30);
    EXPECT_TRUE(runs[2]["oom"]["reserved"].is_null());
    EXPECT_EQ(runs[2]["oom"]["phase"], "forward");
    EXPECT_TRUE(runs[2]["step_ms"].is_null());
    EXPECT_EQ(valid({"--run", "2"}, "runs")[0]["run"], 2);
}

TEST_F(Show, NoNameReachesTheTerminalAsItIs)
{
    const std::string table = run({"runs"});
    EXPECT_THAT(table, HasSubstr(R"(lm \x1b[31mred)"));
    EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST_F(Show, SamplesKeepWarmupApart)
{
    const json samples = valid({"samples", "--run", "1"}, "samples");
    ASSERT_EQ(samples.size(), 7u);
    EXPECT_EQ(samples[0]["kind"], "warmup");
    EXPECT_EQ(samples[0]["wall_ns"], 50'000'000);
    EXPECT_EQ(valid({"samples"}, "samples").size(), 14u);
}

TEST_F(Show, StepsArePartitionedToTheNanosecond)
{
    const json steps = valid({"steps"}, "steps");
    ASSERT_EQ(steps.size(), 3u);
    for (int step = 0; step < 2; ++step) {
        EXPECT_EQ(steps[step]["wall_ns"], 100);
        EXPECT_EQ(steps[step]["gpu_busy_ns"], 60);
        EXPECT_EQ(steps[step]["idle_launch_ns"], 25); // 10 before the first kernel, 15 before the last launch
        EXPECT_EQ(steps[step]["unexplained_ns"], 15);
        EXPECT_EQ(steps[step]["verdict"], "launch-bound");
        EXPECT_EQ(steps[step]["why"], "GPU busy 60.0 %, idle 25.0 % while the host launches");
    }
    EXPECT_EQ(steps[2]["verdict"], "CPU");
    EXPECT_TRUE(steps[2]["gpu_busy_ns"].is_null());
    EXPECT_EQ(valid({"steps", "--run", "3"}, "steps"), json::array());
}

TEST_F(Show, KernelsOfTheTracedSteps)
{
    const json kernels = valid({"kernels", "--run", "1"}, "kernels");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0]["name"], kGemm);
    EXPECT_EQ(kernels[0]["short_name"], "nvjet gemm bf16 128x64x64 TNT");
    EXPECT_EQ(kernels[0]["family"], "matmul");
    EXPECT_EQ(kernels[0]["instances"], 4);
    EXPECT_EQ(kernels[0]["steps"], 2);
    EXPECT_EQ(kernels[0]["instances_per_step"], 2.0);
    EXPECT_EQ(kernels[0]["total_ns"], 100);
    EXPECT_EQ(kernels[0]["avg_ns"], 25);
    EXPECT_EQ(kernels[0]["min_ns"], 20);
    EXPECT_EQ(kernels[0]["max_ns"], 30);
    EXPECT_NEAR(kernels[0]["percent"].get<double>(), 100 * 100.0 / 120, 1e-9);
    EXPECT_THAT(run({"kernels", "--run", "1"}), HasSubstr("1 device events between steps are not counted"));
}

TEST_F(Show, KernelsGroupAndSelect)
{
    const json families = valid({"kernels", "--run", "1", "--group", "family", "--range", "step/forward/**"},
                                "kernels-by-family");
    ASSERT_EQ(families.size(), 2u);
    EXPECT_EQ(families[0]["family"], "matmul");
    EXPECT_EQ(families[0]["percent"], 75.0);
    const json modules = valid({"kernels", "--run", "1", "--group", "module"}, "kernels-by-module");
    ASSERT_EQ(modules.size(), 1u);
    EXPECT_EQ(modules[0]["module"], "attention");
    EXPECT_EQ(modules[0]["instances"], 6);
    EXPECT_EQ(valid({"kernels", "--run", "1", "--group", "phase"}, "kernels-by-phase")[0]["phase"],
              "forward");
    EXPECT_EQ(valid({"kernels", "--run", "1", "--group", "range"}, "kernels-by-range").size(), 2u);
    const json ops = valid({"kernels", "--run", "1", "--group", "op"}, "kernels-by-op");
    EXPECT_EQ(ops[0]["op"], "aten::mm");
    EXPECT_EQ(ops[1]["op"], "unattributed");
}

TEST_F(Show, ACpuRunPointsToItsOps)
{
    EXPECT_THAT(run({"kernels", "--run", "2"}), HasSubstr("no kernels but ops: tilescope show FILE ops"));
    EXPECT_EQ(valid({"kernels", "--run", "2"}, "kernels"), json::array());
    const json ops = valid({"ops", "--run", "2"}, "ops");
    ASSERT_EQ(ops.size(), 2u);
    EXPECT_EQ(ops[0]["name"], "aten::mm");
    EXPECT_EQ(ops[0]["self_ns"], 30);
    EXPECT_EQ(ops[1]["name"], "aten::matmul");
    EXPECT_EQ(ops[1]["total_ns"], 40);
    EXPECT_EQ(ops[1]["self_ns"], 10);
    EXPECT_EQ(valid({"ops", "--run", "2", "--group", "phase"}, "ops-by-phase")[0]["phase"], "forward");
}

TEST_F(Show, RangesAsATreeWithBackwardsModules)
{
    const json ranges = valid({"ranges", "--run", "1"}, "ranges");
    std::vector<std::string> paths;
    for (const json& range : ranges)
        paths.push_back(range["path"]);
    EXPECT_THAT(paths, ElementsAre("step", "step/forward", "step/forward/attention", "step/backward",
                                   "step/backward/attention"));
    EXPECT_EQ(ranges[0]["wall_ns"], 200);
    EXPECT_EQ(ranges[0]["gpu_ns"], 120);
    EXPECT_EQ(ranges[2]["instances"], 2);
    EXPECT_NEAR(ranges[2]["percent"].get<double>(), 100 * 80.0 / 120, 1e-9);
    EXPECT_EQ(ranges[4]["gpu_ns"], 40);
    EXPECT_TRUE(ranges[4]["wall_ns"].is_null());
    EXPECT_EQ(valid({"ranges", "--run", "1", "--range", "step/*"}, "ranges").size(), 2u);
}

TEST_F(Show, MemoryEventsGroupsAndWhatIsLive)
{
    const json events = valid({"memory", "--run", "1"}, "memory");
    ASSERT_EQ(events.size(), 6u);
    EXPECT_EQ(events[0]["t_ns"], 2);
    EXPECT_EQ(events[0]["allocated"], 1512);
    EXPECT_EQ(events[0]["category"], "activations");
    const json groups = valid({"memory", "--run", "1", "--group", "category"}, "memory-groups");
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[0]["key"], "parameters");
    EXPECT_EQ(groups[0]["at_peak"], 900);
    EXPECT_EQ(groups[0]["allocations"], 0) << "it was there before";
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
    EXPECT_EQ(second["after"], 1000) << "it leaves nothing behind";
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

TEST_F(Show, OutOfMemoryTellsWhatIsKnown)
{
    const json told = valid({"oom", "--run", "3"}, "oom");
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0]["requested"], 1 << 30);
    EXPECT_EQ(told[0]["phase"], "forward");
    EXPECT_TRUE(told[0]["op"].is_null()) << "its step was not recorded";
    EXPECT_EQ(told[0]["holders"], json::array());
    EXPECT_THAT(run({"oom", "--run", "3"}), HasSubstr("forward asked for 1.00 GiB with 1.00 MiB allocated"));
    EXPECT_EQ(valid({"oom", "--run", "1"}, "oom"), json::array());
    EXPECT_THAT(run({"oom", "--run", "1"}), HasSubstr("did not run out of memory"));
}

TEST_F(Show, SavedTensorsAreCountedOnceAStorage)
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
    EXPECT_THAT(run({"saved", "--run", "2"}), HasSubstr("has no ledger of what backward needs"));
}

TEST_F(Show, RooflineTellsWhatIsKnownAndWhyTheRestIsNot)
{
    // Run 4: an lm on a known GPU, with shapes and with ceilings of that GPU.
    {
        FakeTrace trace;
        trace.step(0, 0, 1000).range("step/forward", 0, 1000).range("step/forward/lm_head", 0, 500);
        trace.op("aten::mm", 0, 90).at("step/forward/lm_head").shaped("f32[2, 3] f32[3, 5]");
        trace.kernel(kGemm, 100, 140).at("step/forward/lm_head").by(trace.lastOp());
        trace.op("aten::mystery", 90, 99).at("step/forward").shaped("f32[2]");
        trace.kernel("mystery", 200, 230).at("step/forward").by(trace.lastOp());
        store::RunWriter writer(file(), trace.strings());
        writer.beginRun(
            {"lm", "lm", R"({"workload":"lm","size":"small","mode":"train"})", "h4", "Tilescope test"});
        writer.writeEnvironment(
            std::vector<EnvironmentEntry>{{"gpu.name", "NVIDIA H200"}, {"gpu.uuid", "GPU-1"}});
        writer.writeSamples(samplesOf(true));
        writer.write(trace.batch());
        writer.endRun(okResult("cuda:0"));
        const auto ceiling = [](const char* device, const char* kind, double value) {
            return Ceiling{.device = device,
                           .deviceName = "NVIDIA H200",
                           .kind = kind,
                           .value = value,
                           .unit = "FLOP/s",
                           .n = 9,
                           .measuredUnixNs = 1,
                           .program = "test"};
        };
        writer.writeCeilings(
            std::vector<Ceiling>{ceiling("GPU-1", "matmul_fp32", 1e9), ceiling("GPU-1", "matmul_fp32", 3e9),
                                 ceiling("GPU-1", "copy", 1e10), ceiling("GPU-2", "matmul_fp32", 7e9)});
        writer.commit();
    }
    const json families = valid({"roofline", "--run", "4"}, "roofline");
    ASSERT_EQ(families.size(), 2u);
    EXPECT_EQ(families[0]["family"], "matmul");
    EXPECT_EQ(families[0]["time_ns"], 40);
    EXPECT_EQ(families[0]["flops"], 60);
    EXPECT_EQ(families[0]["bytes"], 124);
    EXPECT_DOUBLE_EQ(families[0]["tflops"].get<double>(), 60 / 40e-9 / 1e12);
    EXPECT_EQ(families[0]["bound"], "compute"); // 20 ns at the last measured 3 GFLOP/s, 12.4 at 10 GB/s
    EXPECT_NEAR(families[0]["percent_of_measured"].get<double>(), 50, 1e-9);
    EXPECT_NEAR(families[0]["percent_of_sheet"].get<double>(), 100 * 124 / 4800. / 40, 1e-9);
    EXPECT_TRUE(families[0]["why"].is_null());
    EXPECT_EQ(families[1]["family"], "other");
    EXPECT_TRUE(families[1]["flops"].is_null());
    EXPECT_EQ(families[1]["why"], "no rule counts these ops");
    EXPECT_EQ(valid({"roofline", "--run", "4", "--group", "op"}, "roofline-by-op")[1]["why"],
              "no rule counts aten::mystery");
    const json ranges = valid({"roofline", "--run", "4", "--group", "range"}, "roofline-by-range");
    ASSERT_EQ(ranges.size(), 3u);
    EXPECT_EQ(ranges[0]["range"], "step");
    EXPECT_EQ(ranges[0]["time_ns"], 70);
    EXPECT_EQ(ranges[0]["counted_ns"], 40);
    EXPECT_EQ(valid({"roofline", "--run", "4", "--group", "phase"}, "roofline-by-phase")[0]["phase"],
              "forward");
    EXPECT_EQ(valid({"roofline", "--run", "4", "--group", "module"}, "roofline-by-module").size(), 2u);
    EXPECT_THAT(run({"roofline", "--run", "4"}), HasSubstr("H200 SXM, NVIDIA H200 data sheet"));

    // Without shapes the spec tells the matmuls; run 1 has no known GPU and no ceilings.
    const json fromSpec = valid({"roofline", "--run", "1"}, "roofline");
    EXPECT_GT(fromSpec[0]["flops"], 0);
    EXPECT_TRUE(fromSpec[0]["percent_of_measured"].is_null());
    EXPECT_THAT(fromSpec[0]["why"], HasSubstr("no ceilings of this device"));
    EXPECT_THAT(fromSpec[1]["why"], HasSubstr("run with --shapes true"));

    const json steps = valid({"mfu", "--run", "4"}, "mfu");
    ASSERT_EQ(steps.size(), 3u);
    const double flops = steps[0]["model_flops"].get<double>();
    EXPECT_NEAR(steps[0]["mfu_measured"].get<double>(), 100 * flops / (0.010 * 3e9), 1e-6);
    EXPECT_NEAR(steps[0]["mfu_sheet"].get<double>(), 100 * flops / (0.010 * 66.9e12), 1e-6);
    EXPECT_THAT(run({"mfu", "--run", "4"}), HasSubstr("model FLOPs = 3 F"));
    EXPECT_EQ(valid({"ceilings"}, "ceilings").size(), 4u);
}

TEST_F(Show, AnswersHaveTheirSentenceFiguresAndCommand)
{
    // Each of two steps: in forward a matmul of 30 and a softmax of 10 in attention, in backward a matmul
    // of 20.
    const json answers = valid({"answers", "--run", "1"}, "answers");
    ASSERT_EQ(answers.size(), 6u);
    EXPECT_EQ(answers[0]["name"], "matmul-share");
    EXPECT_EQ(answers[0]["answer"],
              "Matmuls take 75.0 % of the GPU time of forward and 83.3 % of that of the whole step.");
    EXPECT_EQ(answers[0]["figures"][0]["value"], 75.0);
    EXPECT_THAT(answers[0]["command"], HasSubstr("a.tscope kernels --run 1 --group family"));
    EXPECT_THAT(
        answers[1]["answer"],
        HasSubstr("The costliest kernel of forward is nvjet gemm bf16 128x64x64 TNT (75.0 %, 1 times"));
    EXPECT_THAT(answers[1]["answer"], HasSubstr("it is also that of forward and backward together (83.3 %)"));
    EXPECT_EQ(
        answers[2]["answer"],
        "Besides matmuls, 1 kernel takes 0.5 % of the time of forward or more: softmax forward fp32 25.0 %.");
    EXPECT_EQ(answers[2]["figures"][0]["note"], "softmax of short rows, one warp a row");
    EXPECT_THAT(answers[3]["answer"], HasSubstr("--annotate-attention true"));
    EXPECT_EQ(answers[3]["figures"], json::array());
    // 40 ns of kernels in 4 ms of forward.
    EXPECT_EQ(answers[4]["figures"][0]["value"], 40.0);
    EXPECT_EQ(answers[4]["figures"][1]["value"], 4e6);
    EXPECT_EQ(answers[5]["answer"], "A step runs these kernels: 2 in forward, 1 in backward.");

    const json one = valid({"answers", "instances", "--run", "1"}, "answers");
    ASSERT_EQ(one.size(), 1u);
    EXPECT_THAT(run({"answers", "top-kernel", "--run", "1"}), HasSubstr("-> tilescope show"));
    EXPECT_THAT(valid({"answers", "--run", "3"}, "answers")[0]["answer"], HasSubstr("no traced forward"));
    EXPECT_THAT(errorOf({file(), "answers", "top-kernl"}), HasSubstr("did you mean 'top-kernel'?"));
}

TEST_F(Show, SoftmaxIsHeldAgainstTheTwoMatmulsOfAttention)
{
    {
        FakeTrace trace;
        trace.step(0, 0, 1000).range("step/forward", 0, 1000);
        trace.kernel(kGemm, 0, 100).at("step/forward/attention/scores");
        trace.kernel("masked", 100, 150).at("step/forward/attention/scores");
        trace.kernel(kSoftmax, 150, 450).at("step/forward/attention/softmax");
        trace.kernel(kGemm, 450, 550).at("step/forward/attention/output");
        store::RunWriter writer(file(), trace.strings());
        writer.beginRun(
            {"a", "attention",
             R"({"workload":"attention","annotate_attention":true,"batch":2,"heads":1,"seq_len":8,"d_head":4})",
             "h5", "Tilescope test"});
        writer.write(trace.batch());
        writer.endRun(okResult("cuda:0"));
    }
    const json answer = valid({"answers", "softmax-in-attention"}, "answers")[0];
    const auto figure = [&answer](int i) { return answer["figures"][i]["value"].get<double>(); };
    EXPECT_EQ(figure(0), 300);
    EXPECT_EQ(figure(1), 200); // the mask is neither
    EXPECT_EQ(figure(2), 5 * 2 * 8 * 8);
    EXPECT_EQ(figure(3), 2 * 2 * 2 * 8 * 8 * 4);
    EXPECT_EQ(figure(4), 1.5);
    EXPECT_NEAR(figure(5), 5. / 16, 1e-12);
}

TEST_F(Show, LossesSayWhenThereAreNone)
{
    EXPECT_EQ(run({"losses", "--run", "1"}), "Nothing lost (42 records checked)\n");
    EXPECT_EQ(valid({"losses", "--run", "1"}, "losses"), json::array());
    const json losses = valid({"losses"}, "losses");
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_EQ(losses[0]["run"], 2);
    EXPECT_EQ(losses[0]["kind"], "ring_overflow");
    EXPECT_EQ(losses[0]["count"], 7);
}

TEST_F(Show, WhatWasLeftOutByIntentIsToldAndIsNoLoss)
{
    {
        FakeTrace trace;
        trace.step(0, 0, 100).loss("api_calls_not_stored", LossSeverity::Info, 5746).checked(90);
        store::RunWriter writer(file(), trace.strings());
        writer.beginRun({"lm", "lm", R"({"workload":"lm","size":"small"})", "h4", "Tilescope test"});
        writer.write(trace.batch());
        writer.endRun(okResult("cuda:0"));
    }
    EXPECT_THAT(run({"losses", "--run", "4"}), HasSubstr("Nothing lost (90 records checked)."));
    EXPECT_THAT(run({"losses", "--run", "2"}), Not(HasSubstr("Nothing lost")));
}

TEST_F(Show, EnvironmentOfARun)
{
    const json environment = valid({"environment", "--run", "1"}, "environment");
    ASSERT_EQ(environment.size(), 2u);
    EXPECT_EQ(environment[1]["unit"], "GiB");
    EXPECT_TRUE(environment[0]["unit"].is_null());
}

TEST_F(Show, EmptyTablesSayWhy)
{
    EXPECT_THAT(run({"kernels"}),
                HasSubstr("Run 3 has no kernels: it ended as oom (out of memory in forward)."));
    EXPECT_THAT(run({"ops", "--run", "3"}), HasSubstr("ended as oom"));
    EXPECT_THAT(run({"kernels", "--run", "1", "--range", "step/optimizer"}),
                HasSubstr("None of the run's 7 device events is selected."));
}

TEST_F(Show, WhatIsWrongIsOneSentence)
{
    EXPECT_THAT(errorOf({}), HasSubstr("needs a file"));
    EXPECT_EQ(errorOf({"missing.tscope"}), "missing.tscope: no such file");
    EXPECT_THAT(errorOf({file(), "kernel"}), HasSubstr("did you mean 'kernels'?"));
    EXPECT_THAT(errorOf({file(), "runs", "--run", "9"}),
                HasSubstr("there is no run 9; the file has run 1 to 3"));
    EXPECT_THAT(errorOf({file(), "runs", "--run", "x"}), HasSubstr("not a whole number"));
    EXPECT_THAT(errorOf({file(), "runs", "--format", "jsn"}), HasSubstr("did you mean 'json'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "--group", "famly"}), HasSubstr("did you mean 'family'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "--range", "a//b"}), HasSubstr("empty component"));
    EXPECT_THAT(errorOf({file(), "runs", "--group", "name"}), HasSubstr("cannot be grouped"));
    EXPECT_THAT(errorOf({file(), "kernels", "--at", "peak"}), HasSubstr("only show memory"));
    EXPECT_THAT(errorOf({file(), "kernels", "--formt", "json"}), HasSubstr("did you mean '--format'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "more", "x"}), HasSubstr("one argument too many"));
}

TEST_F(Show, HelpHasAnExampleForEachSection)
{
    const std::string help = run({"--help"});
    for (const char* section : {"runs", "samples", "steps", "kernels", "ops", "ranges", "memory", "saved",
                                "oom", "roofline", "mfu", "answers", "ceilings", "losses", "environment"})
        EXPECT_THAT(help, HasSubstr(std::string("tilescope show a.tscope ") + section)) << section;
}

} // namespace tilescope::cli
