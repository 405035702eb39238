// `tilescope record --inside` with a program that uses a CUPTI without a GPU.

#include "tests/support/json_schema.h"
#include "tests/unit/cli/record_fixture.h"

namespace tilescope {

namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;
using testing::ProgramResult;

constexpr const char* kSampling = "FAKE_PC_SAMPLING";

class RecordInside : public RecordTest {
protected:
    ProgramResult recordInside(std::vector<std::string> options = {"--inside"},
                               const std::map<std::string, std::string>& environment = {})
    {
        return record({RECORDED_PROGRAM, "inside", std::string(INSIDE_DATA) + "/lines.cubin"}, environment,
                      options);
    }

    std::map<std::string, int> samplesBy(const std::string& group, const std::string& key)
    {
        std::map<std::string, int> counts;
        for (const json& row : show({"inside", "--group", group}))
            counts[row.at(key).is_null()     ? "null"
                   : row.at(key).is_string() ? row.at(key).get<std::string>()
                                             : row.at(key).dump()] += row.at("samples").get<int>();
        return counts;
    }
};

// Three times 10 samples of 10 instructions and 5 of one; 7 in a second context, which is left alone; 11 and 2 at the end.
TEST_F(RecordInside, AddsUpAllSamplesOfTheFirstContextToTheEnd)
{
    const ProgramResult result = recordInside();
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_EQ(samplesBy("kernel", "kernel"),
              (std::map<std::string, int>{{"scale(float*, int)", 315},
                                          {"chase(unsigned int const*, unsigned int*, int)", 13}}));
    EXPECT_EQ(samplesBy("reason", "reason"),
              (std::map<std::string, int>{{"long_scoreboard", 300}, {"selected", 15}, {"barrier", 13}}));
    EXPECT_THAT(environment()["record.inside"], HasSubstr("only the first context can be sampled"));
    for (const char* group : {"line", "function", "instruction", "reason"}) {
        int sum = 0;
        for (const auto& [key, samples] : samplesBy(group, "kernel"))
            sum += samples;
        EXPECT_EQ(sum, 328) << group;
    }
    EXPECT_THAT(kernelCounts(), Contains(Pair("scale(float*, int)", 3)));
    EXPECT_TRUE(show({"losses"}).empty());
}

TEST_F(RecordInside, SamplesOneGpuOfAProcess)
{
    const ProgramResult result = recordInside({"--inside"}, {{"FAKE_PC_GPUS", "2"}});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(samplesBy("kernel", "kernel"),
              (std::map<std::string, int>{{"scale(float*, int)", 315},
                                          {"chase(unsigned int const*, unsigned int*, int)", 13}}));
    const ProgramResult sums =
        run({TILESCOPE_PROGRAM, "sql", "t.tscope",
             "select device, sum(samples) as samples from kernel_samples group by device order by device",
             "--format", "json"});
    ASSERT_EQ(sums.code, 0) << sums.err;
    EXPECT_EQ(json::parse(sums.out), json::parse(R"([{"device": 0, "samples": 328}])"));
}

// Offsets 32 and 96 of the kernel: lines 20 and 4, which is inlined at line 22.
TEST_F(RecordInside, FindsLinesAndWhereTheyAreInlined)
{
    ASSERT_EQ(recordInside().code, 0);
    bool isFound = false;
    for (const json& row : show({"inside", "--kernel", "scale"})) {
        if (row.at("line") != 4)
            continue;
        isFound = true;
        EXPECT_EQ(row.at("file"), "/tmp/cub/lines.cu");
        EXPECT_EQ(row.at("caller_line"), 22);
        EXPECT_EQ(row.at("function"), "half");
        EXPECT_EQ(row.at("stall"), "long_scoreboard");
        EXPECT_DOUBLE_EQ(row.at("issued_percent"), 60);
        EXPECT_THAT(row.at("remedy"), HasSubstr("num_stages"));
    }
    EXPECT_TRUE(isFound);
    const ProgramResult table = run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside", "--kernel", "scale"});
    EXPECT_THAT(table.out, HasSubstr("lines.cu:4 (in lines.cu:22)"));
    EXPECT_THAT(table.out, HasSubstr("every 2048 cycles"));
}

TEST_F(RecordInside, WritesWhatItsSchemaSays)
{
    ASSERT_EQ(recordInside().code, 0);
    for (const char* group : {"kernel", "line", "function", "instruction", "reason"}) {
        const ProgramResult result =
            run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside", "--group", group, "--format", "json"});
        EXPECT_THAT(testing::schemaOffences(result.out, RESOURCES "/schema/show-inside.schema.json"),
                    ::testing::IsEmpty())
            << group;
    }
}

TEST_F(RecordInside, ComparesTwoRecordingsByLineAndReason)
{
    ASSERT_EQ(recordInside().code, 0);
    ASSERT_EQ(recordInside().code, 0);
    for (const char* group : {"line", "function", "instruction", "reason"}) {
        const ProgramResult result = run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside", "--run", "2",
                                          "--against", "t.tscope:1", "--group", group, "--format", "json"});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_THAT(testing::schemaOffences(result.out, RESOURCES "/schema/show-inside-against.schema.json"),
                    ::testing::IsEmpty());
        double a = 0;
        for (const json& row : json::parse(result.out)) {
            EXPECT_EQ(row.at("points"), 0) << "both have the same samples";
            a += row.at("percent_a").get<double>();
        }
        EXPECT_NEAR(a, 200, 1e-9) << "100 % of each of the two kernels, by " << group;
    }
}

TEST_F(RecordInside, KeepsTheCodeOfSampledKernelsUnlessToldOtherwise)
{
    ASSERT_EQ(recordInside().code, 0);
    const std::vector<std::string> sql{TILESCOPE_PROGRAM, "sql", "t.tscope", "select bytes from kernel_code",
                                       "--format",        "csv"};
    EXPECT_EQ(run(sql).out, "bytes\r\n13144\r\n");
    ASSERT_EQ(recordInside({"--inside", "--no-cubins"}).code, 0);
    EXPECT_EQ(run(sql).out, "bytes\r\n13144\r\n") << "of the first run";
    EXPECT_EQ(show({"inside", "--kernel", "scale", "--run", "2"}).at(0).at("file"), "/tmp/cub/lines.cu");
}

TEST_F(RecordInside, KeepsOnlyTheKernelsThatAreAskedFor)
{
    ASSERT_EQ(recordInside({"--inside=cha*"}).code, 0);
    EXPECT_EQ(samplesBy("kernel", "samples"), (std::map<std::string, int>{{"13", 13}}));
    const ProgramResult other = run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside", "--kernel", "scale"});
    EXPECT_EQ(other.code, 2);
    EXPECT_THAT(other.err, HasSubstr("sampled were chase"));
}

TEST_F(RecordInside, RecordsEverythingElseWithoutPrivileges)
{
    const ProgramResult result = recordInside({"--inside"}, {{kSampling, "denied"}});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_THAT(kernelCounts(), Contains(Pair("gemm", 3)));
    EXPECT_EQ(show({"inside"}), json::array());
    const ProgramResult table = run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside"});
    EXPECT_EQ(table.code, 0);
    EXPECT_THAT(table.out, HasSubstr("no samples: record with --inside; kernels were not sampled"));
}

TEST_F(RecordInside, RecordsEverythingElseWithAnOlderCupti)
{
    const ProgramResult result = recordInside({"--inside"}, {{kSampling, "old"}});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("older than that of CUDA 12.6"));
    EXPECT_THAT(kernelCounts(), Contains(Pair("gemm", 3)));
}

TEST_F(RecordInside, SaysThatAnotherProfilerHasTheDevice)
{
    const ProgramResult result = recordInside({"--inside"}, {{kSampling, "busy"}});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("another profiler, such as ncu or one that reads metrics"));
    EXPECT_THAT(kernelCounts(), Contains(Pair("gemm", 3)));
}

TEST_F(RecordInside, CountsAFullBufferAsALoss)
{
    const ProgramResult result = recordInside({"--inside"}, {{kSampling, "full"}});
    ASSERT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("the buffer of CUPTI was full"));
    EXPECT_THAT(losses(), Contains(Pair("pc_buffer_full", 1)));
    EXPECT_EQ(samplesBy("reason", "reason")["barrier"], 13);
}

TEST_F(RecordInside, SamplesOnlyWhereTheRecordingIsOn)
{
    ASSERT_EQ(recordInside({"--inside", "--delay", "60"}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "t.tscope")) << "nothing was recorded";
}

TEST_F(RecordInside, SaysWhatIsMissingWhereNothingWasSampled)
{
    ASSERT_EQ(record({RECORDED_PROGRAM}).code, 0);
    EXPECT_EQ(show({"inside"}), json::array());
    const ProgramResult table = run({TILESCOPE_PROGRAM, "show", "t.tscope", "inside"});
    EXPECT_EQ(table.code, 0);
    EXPECT_THAT(table.out, HasSubstr("no samples: record with --inside"));
}

// The fakes refuse to sample while the other kind does.
TEST_F(RecordInside, SamplesMetricsFirstThenInstructions)
{
    const ProgramResult result = record(
        {RECORDED_PROGRAM, "turns", std::string(INSIDE_DATA) + "/lines.cubin", "5300"},
        {{"LD_LIBRARY_PATH", FAKE_DRIVER_FOLDER}, {"FAKE_DEVICE", (folder_.path() / "device").string()}},
        {"--inside", "--metrics=sm_active,dram_read", "--metrics-interval", "1ms"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("one at a time"));
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("refused"))) << "they never sampled at once";
    EXPECT_THAT(result.out, ::testing::ContainsRegex("instructions were sampled 1 times"));
    const std::string turns = environment()["record.turns"];
    EXPECT_THAT(turns, HasSubstr("then instructions (--inside), for ")) << result.err;
    EXPECT_GT(samplesBy("reason", "reason")["long_scoreboard"], 0);
    for (const char* section : {"inside", "metrics"}) {
        const ProgramResult table = run({TILESCOPE_PROGRAM, "show", "t.tscope", section});
        EXPECT_THAT(table.out, HasSubstr("A part of the run: " + turns)) << section;
    }
    EXPECT_TRUE(show({"losses"}).empty()) << "the other part is not lost";
}

TEST_F(RecordInside, SamplesInstructionsAllTheTimeWhereMetricsAreRefused)
{
    const ProgramResult result =
        record({RECORDED_PROGRAM, "turns", std::string(INSIDE_DATA) + "/lines.cubin", "2500"},
               {{"LD_LIBRARY_PATH", FAKE_DRIVER_FOLDER}, {"FAKE_SAMPLING", "privileges"}},
               {"--inside", "--metrics"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
    EXPECT_THAT(result.out, ::testing::ContainsRegex("instructions were sampled 1 times"));
}

TEST_F(RecordInside, RefusesOptionsThatExcludeEachOther)
{
    const ProgramResult yields = recordInside({"--inside", "--yield-to-torch"});
    EXPECT_EQ(yields.code, 2);
    EXPECT_THAT(yields.err, HasSubstr("give --inside or --yield-to-torch"));
    const ProgramResult alone = recordInside({"--no-cubins"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(alone.err, HasSubstr("add --inside"));
    const ProgramResult counters =
        run({TILESCOPE_PROGRAM, "record", "--inside", "--counters", "dram__bytes.sum", "--", "true"});
    EXPECT_EQ(counters.code, 2);
    EXPECT_EQ(counters.err,
              "--counters: hardware counters replay each step, which a recorded program does not do; "
              "give --metrics or --inside, or the key counters to a run of Tilescope's own\n");
}

// Two recordings of tests/gpu/inside/attention.py on an H200, with tiles of 64 and of 32 keys.
TEST_F(RecordInside, ShowsARecordingOfAGpu)
{
    const std::string file = std::string(INSIDE_DATA) + "/attention.tscope";
    const ProgramResult lines = run({TILESCOPE_PROGRAM, "show", file, "inside", "--run", "1", "--kernel",
                                     "flash_fwd", "--format", "json"});
    ASSERT_EQ(lines.code, 0) << lines.err;
    const json rows = json::parse(lines.out);
    ASSERT_GE(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("line"), 14);
    EXPECT_EQ(rows[1].at("line"), 12);
    EXPECT_EQ(rows[1].at("stall"), "barrier");
    int samples = 0;
    for (const json& row : rows)
        samples += row.at("samples").get<int>();
    const ProgramResult kernels =
        run({TILESCOPE_PROGRAM, "show", file, "inside", "--run", "1", "--format", "json"});
    EXPECT_EQ(json::parse(kernels.out).at(0).at("samples"), samples);
    const ProgramResult change = run({TILESCOPE_PROGRAM, "show", file, "inside", "--run", "2", "--against",
                                      file + ":1", "--kernel", "flash_fwd", "--format", "json"});
    ASSERT_EQ(change.code, 0) << change.err;
    double slower = 0;
    for (const json& row : json::parse(change.out))
        slower += row.at("delta_ns").get<double>();
    EXPECT_NEAR(slower, 38'000, 4'000) << "the difference of the mean times";
    EXPECT_THAT(json::parse(change.out).at(0).at("text"), HasSubstr("maximum"));
}

// tests/gpu/inside/known.cu, recorded on an H200: each kernel has one line that dominates, and one reason.
TEST_F(RecordInside, FindsWhatLimitsKernelsThatAreKnown)
{
    const std::string file = std::string(INSIDE_DATA) + "/known.tscope";
    struct Known {
        const char* kernel;
        const char* reason;
        int line;
        const char* limit;
    };
    for (const Known& known :
         {Known{"dram_copy", "long_scoreboard", 44,
                "In 98.2 % of the samples the warp waits for device memory"},
          Known{"bank_conflicts", "short_scoreboard", 56, "7.02 % of the issue slots are used"},
          Known{"barrier_imbalance", "barrier", 65, "the warp waits at a barrier"},
          Known{"tensor_cores", "math_pipe_throttle", 87, "the math pipe is full"},
          Known{"pointer_chase", "long_scoreboard", 98, "96.8 % stay empty because of it"},
          Known{"fma_only", "wait", 33, "There is enough work"}}) {
        const auto shown = [&](const char* group) {
            const ProgramResult rows = run({TILESCOPE_PROGRAM, "show", file, "inside", "--kernel",
                                            known.kernel, "--group", group, "--format", "json"});
            EXPECT_EQ(rows.code, 0) << rows.err;
            return json::parse(rows.out);
        };
        std::string stall;
        for (const json& row : shown("reason"))
            if (stall.empty() && !row.at("stall").is_null())
                stall = row.at("stall");
        EXPECT_EQ(stall, known.reason) << known.kernel;
        const json top = shown("line").at(0);
        EXPECT_TRUE(top.at("line") == known.line || top.at("caller_line") == known.line) << known.kernel;
        const ProgramResult table =
            run({TILESCOPE_PROGRAM, "show", file, "inside", "--kernel", known.kernel, "--group", "reason"});
        EXPECT_THAT(table.out, HasSubstr(known.limit)) << known.kernel;
    }
}

// tests/gpu/metrics/kernels.py, recorded on an H200. ncu counted 93.5 % (tensor pipe) and 18.8 % (DRAM read) of the product.
TEST_F(RecordInside, ShowsMetricsOfKernelsThatAreKnown)
{
    const ProgramResult result = run({TILESCOPE_PROGRAM, "show", std::string(INSIDE_DATA) + "/metrics.tscope",
                                      "metrics", "--format", "json"});
    ASSERT_EQ(result.code, 0) << result.err;
    std::map<std::string, double> means;
    for (const json& row : json::parse(result.out))
        if (!row.at("mean").is_null())
            means[row.at("family").get<std::string>() + "." + row.at("metric").get<std::string>()] =
                row.at("mean");
    EXPECT_NEAR(means.at("matmul.tensor_active"), 93.5, 3);
    EXPECT_NEAR(means.at("matmul.dram_read"), 18.8, 3);
    EXPECT_NEAR(means.at("copy.dram_read"), means.at("copy.dram_write"), 0.5);
    EXPECT_EQ(means.at("copy.tensor_active"), 0);
    EXPECT_GT(means.at("copy.sm_active"), 99);
}

TEST_F(RecordInside, SharesSamplesAmongTheCallsThatLaunched)
{
    const std::string file = std::string(INSIDE_DATA) + "/known.tscope";
    const ProgramResult tree = run(
        {TILESCOPE_PROGRAM, "show", file, "tree", "--weight", "samples", "--limit", "0", "--format", "json"});
    ASSERT_EQ(tree.code, 0) << tree.err;
    EXPECT_THAT(testing::schemaOffences(tree.out, RESOURCES "/schema/show-tree-samples.schema.json"),
                ::testing::IsEmpty());
    std::int64_t top = 0;
    std::int64_t ends = 0;
    std::int64_t inlined = 0;
    for (const json& row : json::parse(tree.out)) {
        top += row.at("parent").is_null() ? row.at("total_samples").get<std::int64_t>() : 0;
        ends += row.at("self_samples").get<std::int64_t>();
        if (row.at("name").get<std::string>().starts_with("mma.hpp:626"))
            inlined += row.at("total_samples").get<std::int64_t>();
    }
    const ProgramResult kernels = run({TILESCOPE_PROGRAM, "show", file, "inside", "--format", "json"});
    std::int64_t samples = 0;
    for (const json& row : json::parse(kernels.out))
        samples += row.at("samples").get<std::int64_t>();
    EXPECT_EQ(top, samples);
    EXPECT_EQ(ends, samples);
    EXPECT_GT(inlined, 1'000'000) << "below the line at which it is inlined";
    EXPECT_EQ(run({TILESCOPE_PROGRAM, "show", file, "tree", "--weight", "samples", "--range", "step"}).code,
              2);
}

TEST_F(RecordInside, OneProcessOfARecordingSamplesAGpu)
{
    const std::string cubin = std::string(INSIDE_DATA) + "/lines.cubin";
    const std::string program = RECORDED_PROGRAM;
    const ProgramResult result = record(
        {"/bin/sh", "-c", program + " inside " + cubin + " & " + program + " inside " + cubin + "; wait"}, {},
        {"--inside"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("another process of the recording uses the same GPU"));
    EXPECT_EQ(samplesBy("reason", "reason")["barrier"], 13) << "of one process";
    EXPECT_THAT(otherFiles(), ::testing::IsEmpty());
}

TEST_F(RecordInside, AKilledProgramKeepsTheRest)
{
    const ProgramResult result = record({RECORDED_PROGRAM, "kill"}, {}, {"--inside"});
    EXPECT_LT(result.code, 0);
    EXPECT_EQ(kernelCounts()["gemm"], 3);
}

} // namespace

} // namespace tilescope
