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

// Three times 10 samples of 10 instructions and 5 of one; 7 in a context that ends, 11 and 2 at the end.
TEST_F(RecordInside, AddsUpAllSamplesOfAllContextsToTheEnd)
{
    const ProgramResult result = recordInside();
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "three steps\n");
    EXPECT_EQ(samplesBy("kernel", "kernel"),
              (std::map<std::string, int>{{"scale(float*, int)", 315},
                                          {"chase(unsigned int const*, unsigned int*, int)", 20}}));
    EXPECT_EQ(samplesBy("reason", "reason"),
              (std::map<std::string, int>{{"long_scoreboard", 300}, {"selected", 15}, {"barrier", 20}}));
    for (const char* group : {"line", "function", "instruction", "reason"}) {
        int sum = 0;
        for (const auto& [key, samples] : samplesBy(group, "kernel"))
            sum += samples;
        EXPECT_EQ(sum, 335) << group;
    }
    EXPECT_THAT(kernelCounts(), Contains(Pair("scale(float*, int)", 3)));
    EXPECT_TRUE(show({"losses"}).empty());
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
    for (const char* group : {"line", "function", "reason"}) {
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
    EXPECT_EQ(samplesBy("kernel", "samples"), (std::map<std::string, int>{{"20", 20}}));
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
    ASSERT_EQ(recordInside({"--inside"}, {{kSampling, "full"}}).code, 0);
    EXPECT_THAT(losses(), Contains(Pair("pc_buffer_full", 1)));
    EXPECT_EQ(samplesBy("reason", "reason")["barrier"], 20);
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

TEST_F(RecordInside, RefusesOptionsThatExcludeEachOther)
{
    const ProgramResult yields = recordInside({"--inside", "--yield-to-torch"});
    EXPECT_EQ(yields.code, 2);
    EXPECT_THAT(yields.err, HasSubstr("give --inside or --yield-to-torch"));
    const ProgramResult alone = recordInside({"--no-cubins"});
    EXPECT_EQ(alone.code, 2);
    EXPECT_THAT(alone.err, HasSubstr("add --inside"));
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

TEST_F(RecordInside, OneProcessOfARecordingSamplesAGpu)
{
    const std::string cubin = std::string(INSIDE_DATA) + "/lines.cubin";
    const std::string program = RECORDED_PROGRAM;
    const ProgramResult result = record(
        {"/bin/sh", "-c", program + " inside " + cubin + " & " + program + " inside " + cubin + "; wait"}, {},
        {"--inside"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("another process of the recording uses the same GPU"));
    EXPECT_EQ(samplesBy("reason", "reason")["barrier"], 20) << "of one process";
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
