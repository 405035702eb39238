#include "tests/unit/cli/show_fixture.h"

#include <fstream>

namespace tilescope::cli {

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

TEST_F(Show, NamesAreEscapedForTheTerminal)
{
    const std::string table = run({"runs"});
    EXPECT_THAT(table, HasSubstr(R"(lm \x1b[31mred)"));
    EXPECT_EQ(table.find('\x1b'), std::string::npos);
}

TEST_F(Show, RunsWhoseStartIsUnknownSayNull)
{
    {
        FakeTrace trace;
        store::RunWriter writer(file(), trace.strings());
        store::RunHeader header{"foreign", "trace", R"({"workload":"trace"})", "h4", "Tilescope test"};
        header.startedUnixNs = 0;
        header.clockOrigin = timestampAt(0);
        writer.beginRun(header);
        writer.endRun(okResult("cuda:0"));
    }
    EXPECT_TRUE(valid({"runs"}, "runs")[3]["started"].is_null());
    EXPECT_THAT(run({"runs", "--run", "4"}), Not(HasSubstr("started")));
    EXPECT_THAT(run({"runs", "--run", "1"}), HasSubstr("started"));
}

TEST_F(Show, GenerationOfARunThatTrainsIsASentence)
{
    EXPECT_EQ(valid({"generation", "--run", "1"}, "generation"), json::array());
    EXPECT_THAT(run({"generation", "--run", "1"}), HasSubstr("shows no generation"));
}

TEST_F(Show, GenerationKeepsTheContractInAllItsGroups)
{
    {
        FakeTrace trace;
        for (int i = 0; i < 4; ++i) {
            trace.step(i, 1000 * i, 1000 * i + 900)
                .range(i == 0 ? "step/execute_context_1(64)_generation_0(0)"
                              : "step/execute_context_0(0)_generation_1(1)",
                       1000 * i, 1000 * i + 800);
            trace.kernel(kGemm, 1000 * i + 100, 1000 * i + 300).at("step").launchedAt(1000 * i + 5);
        }
        store::RunWriter writer(file(), trace.strings());
        store::RunHeader header{"serve", "trace", R"({"workload":"trace"})", "h5", "Tilescope test"};
        header.clockOrigin = timestampAt(0);
        writer.beginRun(header);
        writer.write(trace.batch());
        writer.endRun(okResult("cuda:0"));
    }
    const json rows = valid({"generation", "--run", "4"}, "generation");
    ASSERT_EQ(rows.size(), 4u);
    EXPECT_EQ(rows[0]["type"], "prefill");
    EXPECT_EQ(rows[0]["tokens"], 64);
    EXPECT_EQ(rows[1]["batch"], 1);
    EXPECT_EQ(rows[1]["gpu_ns"].get<int>() + rows[1]["host_ns"].get<int>(), rows[1]["wall_ns"].get<int>());
    EXPECT_TRUE(rows[1]["bytes"].is_null());
    const json types = valid({"generation", "--run", "4", "--group", "type"}, "generation");
    ASSERT_EQ(types.size(), 2u);
    EXPECT_EQ(types[1]["iterations"], 3);
    EXPECT_EQ(types[1]["p50_ns"], 900);
    EXPECT_EQ(valid({"generation", "--run", "4", "--group", "batch"}, "generation").size(), 2u);
    EXPECT_THAT(run({"generation", "--run", "4"}), HasSubstr("Time per output token"));
}

TEST_F(Show, CountersHaveFiguresOfTheTracedStepsOrOfASpan)
{
    const json counters = valid({"counters", "--run", "1"}, "counters");
    ASSERT_EQ(counters.size(), 3u);
    EXPECT_EQ(counters[0]["name"], "Power");
    EXPECT_EQ(counters[0]["unit"], "W");
    EXPECT_EQ(counters[0]["device"], 0);
    EXPECT_EQ(counters[0]["samples"], 3);
    EXPECT_EQ(counters[0]["failed"], 1);
    EXPECT_EQ(counters[0]["minimum"], 300.0);
    EXPECT_EQ(counters[0]["mean"], (50 * 300.0 + 50 * 700 + 100 * 400) / 200);
    EXPECT_EQ(counters[0]["maximum"], 700.0);
    EXPECT_TRUE(counters[2]["device"].is_null());
    const std::string table = run({"counters", "--run", "1"});
    EXPECT_THAT(table, HasSubstr("GPU 0 limited its clocks in 25.0 % of the time: Power cap."));
    EXPECT_THAT(table, HasSubstr("1.00 GiB"));

    const json part = valid({"counters", "--run", "1", "--from", "60", "--to", "160"}, "counters");
    EXPECT_EQ(part[0]["samples"], 2) << "that which holds at the beginning, and one";
    EXPECT_EQ(part[0]["mean"], (40 * 700.0 + 60 * 400) / 100);
    EXPECT_THAT(run({"counters", "--run", "2"}), HasSubstr("Run 2 recorded no counters."));
}

TEST_F(Show, SamplesSeparateWarmUp)
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
        // 10 before the first kernel, 15 before the last launch, 10 after the last kernel
        EXPECT_EQ(steps[step]["idle_launch_ns"], 35);
        EXPECT_EQ(steps[step]["unexplained_ns"], 5);
        EXPECT_EQ(steps[step]["verdict"], "launch-bound");
        EXPECT_EQ(steps[step]["why"], "GPU busy 60.0 %, idle 35.0 % while the host prepares launches");
    }
    EXPECT_EQ(steps[2]["verdict"], "CPU");
    EXPECT_TRUE(steps[2]["gpu_busy_ns"].is_null());
    EXPECT_EQ(valid({"steps", "--run", "3"}, "steps"), json::array());
}

TEST_F(Show, StepsAndRangesOfASpanAreTheirPartsInIt)
{
    const json whole = valid({"steps", "--run", "1"}, "steps");
    std::int64_t busy = 0;
    std::int64_t launching = 0;
    for (const auto& [from, to] : {std::pair("0", "40"), std::pair("40", "90"), std::pair("90", "100000")})
        for (const json& step : valid({"steps", "--run", "1", "--from", from, "--to", to}, "steps")) {
            busy += step["gpu_busy_ns"].get<std::int64_t>();
            launching += step["idle_launch_ns"].get<std::int64_t>();
        }
    EXPECT_EQ(busy, whole[0]["gpu_busy_ns"].get<int>() + whole[1]["gpu_busy_ns"].get<int>());
    EXPECT_EQ(launching, whole[0]["idle_launch_ns"].get<int>() + whole[1]["idle_launch_ns"].get<int>());
    EXPECT_THAT(run({"steps", "--run", "1", "--from", "0", "--to", "40"}),
                HasSubstr("Only the parts of steps from 0 ns to 40.0 ns after the first event."));
    EXPECT_THAT(run({"steps", "--run", "1", "--from", "100000"}),
                HasSubstr("No traced step lies in the time span."));
    const json part = valid({"ranges", "--run", "1", "--from", "0", "--to", "40"}, "ranges");
    ASSERT_FALSE(part.empty());
    EXPECT_LE(part[0]["wall_ns"], 40);
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
    EXPECT_THAT(run({"kernels", "--run", "1"}), HasSubstr("1 device event between steps is not counted"));
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

TEST_F(Show, TreeAddsUpToTheKernels)
{
    const json tree = valid({"tree", "--run", "1"}, "tree");
    std::int64_t self = 0;
    for (const json& row : tree)
        self += row["self_ns"].get<std::int64_t>();
    EXPECT_EQ(self, 120) << "as the table of kernels";
    EXPECT_EQ(tree[0]["name"], "step");
    EXPECT_EQ(tree[0]["total_ns"], 120);
    EXPECT_TRUE(tree[0]["parent"].is_null());
    EXPECT_EQ(valid({"tree", "--run", "2"}, "tree")[0]["total_ns"], 40)
        << "self time of the ops of a CPU run";
    EXPECT_THAT(run({"tree", "--run", "1", "--limit", "1"}), HasSubstr("The largest 1 of "));
}

TEST_F(Show, RooflineShowsKnownWorkAndTheReasonForTheRest)
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

    // Without shapes, the spec determines the matmuls; run 1 has no known GPU and no ceilings.
    const json fromSpec = valid({"roofline", "--run", "1"}, "roofline");
    EXPECT_GT(fromSpec[0]["flops"], 0);
    EXPECT_TRUE(fromSpec[0]["percent_of_measured"].is_null());
    EXPECT_THAT(fromSpec[0]["why"], HasSubstr("no ceilings of this device"));
    EXPECT_THAT(fromSpec[1]["why"], HasSubstr("run with --shapes true"));

    const json steps = valid({"mfu", "--run", "4"}, "mfu");
    ASSERT_EQ(steps.size(), 3u);
    const double flops = steps[0]["model_flops"].get<double>();
    EXPECT_NEAR(steps[0]["mfu_measured_percent"].get<double>(), 100 * flops / (0.010 * 3e9), 1e-6);
    EXPECT_NEAR(steps[0]["mfu_sheet_percent"].get<double>(), 100 * flops / (0.010 * 66.9e12), 1e-6);
    EXPECT_THAT(run({"mfu", "--run", "4"}), HasSubstr("model FLOPs = 3 F"));
    EXPECT_EQ(valid({"ceilings"}, "ceilings").size(), 4u);
}

TEST_F(Show, AnswersHaveTheirSentenceFiguresAndCommand)
{
    // In each of two steps: a matmul of 30 and a softmax of 10 in attention's forward, a matmul of 20 in
    // backward.
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
    EXPECT_THAT(answers[1]["answer"],
                HasSubstr("it is also the costliest of forward and backward together (83.3 %)"));
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

TEST_F(Show, SoftmaxIsComparedWithTheTwoMatmulsOfAttention)
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

TEST_F(Show, LossesReportThatThereAreNone)
{
    EXPECT_EQ(run({"losses", "--run", "1"}), "Nothing lost (42 records checked)\n");
    EXPECT_EQ(valid({"losses", "--run", "1"}, "losses"), json::array());
    const json losses = valid({"losses"}, "losses");
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_EQ(losses[0]["run"], 2);
    EXPECT_EQ(losses[0]["kind"], "ring_overflow");
    EXPECT_EQ(losses[0]["count"], 7);
}

TEST_F(Show, IntentionalOmissionsAreListedButAreNotLosses)
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

TEST_F(Show, ErrorsAreOneSentence)
{
    EXPECT_THAT(errorOf({}), HasSubstr("needs a file"));
    EXPECT_EQ(errorOf({"missing.tscope"}), "missing.tscope: no such file; check the path");
    EXPECT_THAT(errorOf({file(), "kernel"}), HasSubstr("did you mean 'kernels'?"));
    EXPECT_THAT(errorOf({file(), "runs", "--run", "9"}),
                HasSubstr("there is no run 9; the file has run 1 to 3"));
    EXPECT_THAT(errorOf({file(), "runs", "--run", "x"}), HasSubstr("'x' is not the number of a run"));
    EXPECT_THAT(errorOf({file(), "runs", "--limit", "x"}), HasSubstr("'x' is not a whole number from 0 up"));
    EXPECT_THAT(errorOf({file(), "kernels", "--rank", "99999999999"}), HasSubstr("from 0 to 2147483647"));
    EXPECT_THAT(errorOf({file(), "samples", "--run", "1", "--run", "2"}), HasSubstr("--run: is given twice"));
    EXPECT_THAT(errorOf({file(), "kernels", "top-kernel"}), HasSubstr("top-kernel: unexpected argument"));
    EXPECT_THAT(errorOf({file(), "runs", "--format", "jsn"}), HasSubstr("did you mean 'json'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "--group", "famly"}), HasSubstr("did you mean 'family'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "--range", "a//b"}), HasSubstr("empty component"));
    EXPECT_THAT(errorOf({file(), "runs", "--group", "name"}), HasSubstr("cannot be grouped"));
    EXPECT_THAT(errorOf({file(), "kernels", "--at", "peak"}), HasSubstr("only show memory"));
    EXPECT_THAT(errorOf({file(), "kernels", "--formt", "json"}), HasSubstr("did you mean '--format'?"));
    EXPECT_THAT(errorOf({file(), "kernels", "more", "x"}), HasSubstr("x: unexpected argument"));
}

TEST_F(Show, HelpHasAnExampleForEachSection)
{
    const std::string help = run({"--help"});
    for (const char* section :
         {"runs", "samples", "steps", "ranks", "collectives", "kernels", "ops", "ranges", "memory", "saved",
          "oom", "roofline", "mfu", "answers", "advice", "ceilings", "losses", "environment"})
        EXPECT_THAT(help, HasSubstr(std::string("tilescope show a.tscope ") + section)) << section;
}

TEST_F(Show, MetricsOfARunWithoutThemAreNone)
{
    EXPECT_THAT(run({"metrics", "--run", "1"}), HasSubstr("\nno metrics: record with --metrics\n"));
    EXPECT_TRUE(valid({"metrics", "--run", "1"}, "metrics").empty());
    EXPECT_THAT(errorOf({file(), "metrics", "--group", "op"}),
                HasSubstr("allowed here: kernel, family, step"));
}

TEST(Schema, TakesKeysFromRowsAndKeepsWhatItSaysOfThem)
{
    const tilescope::testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "show-x.schema.json";
    tilescope::testing::updateRowsOfSchema(R"([{"run": 1, "old": 2}])", file);
    json schema = json::parse(std::ifstream(file));
    schema["items"]["properties"]["run"]["description"] = "number of the run";
    std::ofstream(file) << schema;
    const std::string rows = R"([{"name": "a", "run": 1, "bytes": 7}, {"name": null, "run": 1, "bytes": 8}])";
    EXPECT_THAT(tilescope::testing::schemaOffences(rows, file), ::testing::Not(IsEmpty()));
    tilescope::testing::updateRowsOfSchema(rows, file);
    EXPECT_THAT(tilescope::testing::schemaOffences(rows, file), IsEmpty());
    schema = json::parse(std::ifstream(file));
    EXPECT_EQ(schema["items"]["required"], (json{"name", "run", "bytes"}));
    EXPECT_EQ(schema["items"]["properties"]["run"]["description"], "number of the run");
    EXPECT_EQ(schema["items"]["properties"]["name"]["type"], (json{"string", "null"}));
    EXPECT_FALSE(schema["items"]["properties"].contains("old"));
    tilescope::testing::updateRowsOfSchema("[]", file);
    EXPECT_EQ(json::parse(std::ifstream(file)), schema) << "no rows say nothing";
}

} // namespace tilescope::cli
