// Samples of instructions: those of a step, and what changed between two runs.

#include "core/query/kernels/inside_table.h"

#include "core/base/error.h"
#include "core/model/environment_facts.h"
#include "core/model/kernel_samples.h"
#include "core/query/kernels/inside_difference.h"
#include "core/store/run_writer.h"
#include "core/store/sql_query.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::query {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kMillis = 1'000'000;
constexpr std::int64_t kStep = 1'000 * kMillis;
constexpr const char* kKernel = "square(float*)";

StallSamples read(std::int64_t from, std::int64_t to, std::int64_t samples, std::uint32_t instruction = 0)
{
    return {.instruction = instruction,
            .reason = 0,
            .samples = samples,
            .unissued = samples,
            .start = timestampAt(from * kMillis),
            .end = timestampAt(to * kMillis)};
}

class Inside : public ::testing::Test {
protected:
    /// Three steps of a second.
    std::filesystem::path write(const char* name, std::vector<StallSamples> stalls,
                                std::vector<std::string> instructions = {"FADD R1, R2, R3"})
    {
        testing::FakeTrace trace;
        for (std::int32_t step = 0; step < 3; ++step) {
            trace.step(step, step * kStep, (step + 1) * kStep);
            trace.kernel(kKernel, step * kStep, step * kStep + 500 * kMillis);
        }
        KernelSamples samples;
        samples.kernels = {{.device = DeviceIndex{0}, .name = kKernel, .symbol = "k", .cubin = 1}};
        for (std::size_t i = 0; i < instructions.size(); ++i)
            samples.instructions.push_back(
                {.kernel = 0, .offset = 16 * i, .text = std::move(instructions[i])});
        samples.reasons = {"long_scoreboard"};
        samples.stalls = std::move(stalls);
        const std::filesystem::path file = folder_ / name;
        store::RunWriter writer(file, trace.strings());
        writer.beginRun({"prog", "trace", "{}", "h", "Tilescope test"});
        writer.write(trace.batch());
        writer.writeTopology(topology_);
        writer.writeEnvironment(facts_);
        writer.writeKernelSamples(samples);
        writer.endRun({});
        return file;
    }

    static InsideTable of(const std::filesystem::path& file, std::optional<std::int32_t> step)
    {
        return inside(store::RunReader(file), {.group = InsideGroup::Reason, .step = step});
    }

    static std::string errorOf(const std::filesystem::path& file, std::int32_t step)
    {
        try {
            of(file, step);
        } catch (const Error& error) {
            return error.sentence();
        }
        return {};
    }

    testing::TemporaryFolder folder_;
    RunTopology topology_;
    std::vector<EnvironmentEntry> facts_;
};

} // namespace

TEST_F(Inside, HasTheSamplesThatWereReadWhileAStepRan)
{
    // The last one has what was sampled before it: the GPU's buffer is read some time later.
    const auto file =
        write("a.tscope", {read(-200, 0, 1), read(0, 200, 2), read(800, 1'000, 4), read(1'000, 1'200, 8),
                           read(1'200, 2'000, 16), read(2'050, 2'250, 32), read(2'400, 2'600, 64)});
    EXPECT_EQ(of(file, {}).samples, 127);
    const InsideTable first = of(file, 0);
    EXPECT_EQ(first.samples, 2 + 4 + 8);
    EXPECT_EQ(first.step, 0);
    EXPECT_EQ(first.stepTime, Nanoseconds(kStep));
    EXPECT_EQ(first.readTime, Nanoseconds(600 * kMillis));
    EXPECT_EQ(of(file, 1).samples, 8 + 16 + 32);
    EXPECT_EQ(of(file, 2).samples, 32 + 64);
    EXPECT_EQ(of(file, 2).rows.size(), 1);
}

TEST_F(Inside, TheViewSaysWhenSamplesWereRead)
{
    constexpr const char* kSql =
        "with first as (select min(start) as start from kernels) select sum(samples) as samples, "
        "min(s.start) - "
        "first.start as start, max(s.end) - first.start as end from kernel_samples s, first";
    const store::SqlResult now =
        store::runSql(write("a.tscope", {read(0, 200, 2), read(800, 1'000, 4)}), kSql);
    EXPECT_EQ(std::get<std::int64_t>(now.at(0, 0)), 6);
    EXPECT_EQ(std::get<std::int64_t>(now.at(0, 1)), 0);
    EXPECT_EQ(std::get<std::int64_t>(now.at(0, 2)), 1'000 * kMillis);
    const store::SqlResult older =
        store::runSql(std::string(TILESCOPE_SOURCE_DIR) + "/tests/data/inside/known.tscope", kSql);
    EXPECT_GT(std::get<std::int64_t>(older.at(0, 0)), 0);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(older.at(0, 1))) << "they are not known";
}

TEST_F(Inside, SaysWhyAStepHasNoSamples)
{
    EXPECT_THAT(errorOf(write("none.tscope", {{.instruction = 0, .reason = 0, .samples = 5}}), 1),
                HasSubstr("have no times"));
    const auto file = write("first.tscope", {read(0, 200, 2)});
    EXPECT_THAT(errorOf(file, 7), HasSubstr("has no step 7"));
    const InsideTable table = of(file, 2);
    EXPECT_TRUE(table.rows.empty());
    EXPECT_TRUE(table.isSampled);
}

TEST_F(Inside, AddsUpTheSamplesWithoutAKernelByProcess)
{
    for (std::int32_t rank = 0; rank < 3; ++rank) {
        const ProcessIndex process{rank};
        topology_.processes.push_back({.id = process, .pid = 10 + rank, .name = "python", .rank = rank});
        facts_.push_back({keyOfProcess(kInsideOthers, process), rank < 2 ? "7" : "20"});
        facts_.push_back({keyOfProcess(kInsideCycles, process), rank < 2 ? "32768" : "2048"});
    }
    const store::RunReader reader(write("ranks.tscope", {read(0, 200, 1)}));
    const InsideTable all = inside(reader, {});
    EXPECT_EQ(all.others, 7 + 7 + 20);
    EXPECT_EQ(all.cycles, 0) << "they differ";
    const InsideTable second = inside(reader, {.topology = {.rank = 1}});
    EXPECT_EQ(second.others, 7);
    EXPECT_EQ(second.cycles, 32768);
    EXPECT_EQ(inside(reader, {.topology = {.pid = 12}}).others, 20);
}

TEST_F(Inside, ReadsTheNumbersOfProcessesOfAnOlderRecording)
{
    for (std::int32_t rank = 0; rank < 12; ++rank)
        topology_.processes.push_back(
            {.id = ProcessIndex{rank}, .pid = 10 + rank, .name = "python", .rank = rank});
    facts_ = {{kInsideOthers, "rank 0, rank 11: 7"}, {kInsideOthers, "rank 1: 20"}, {kInsideCycles, "32768"}};
    const store::RunReader reader(write("older.tscope", {read(0, 200, 1)}));
    EXPECT_EQ(inside(reader, {}).others, 7 + 7 + 20);
    const InsideTable second = inside(reader, {.topology = {.rank = 1}});
    EXPECT_EQ(second.others, 20);
    EXPECT_EQ(second.cycles, 32768);
    EXPECT_EQ(inside(reader, {.topology = {.rank = 2}}).others, 0);
}

TEST_F(Inside, HasTheNumbersOfTheOnlyProcessByItsPid)
{
    topology_.processes.push_back({.id = ProcessIndex{0}, .pid = 10, .name = "python"});
    facts_ = {{kInsideOthers, "7"}, {kInsideCycles, "32768"}};
    const InsideTable table =
        inside(store::RunReader(write("one.tscope", {read(0, 200, 1)})), {.topology = {.pid = 10}});
    EXPECT_EQ(table.others, 7);
    EXPECT_EQ(table.cycles, 32768);
}

TEST(PairingNames, AreFullWhereBothRunsHaveThem)
{
    const InsideTable a{.rows = {{.kernel = "f<int>(int*)", .name = "f"},
                                 {.kernel = "f<float>(float*)", .name = "f"},
                                 {.kernel = "g()", .name = "g"}}};
    const InsideTable b{
        .rows = {{.kernel = "f<int>(int*)", .name = "f"}, {.kernel = "f<half>(half*)", .name = "f"}}};
    using Names = std::map<std::string, std::string>;
    EXPECT_EQ(pairingNames(a, b),
              (Names{{"f<int>(int*)", "f<int>(int*)"}, {"f<float>(float*)", "f"}, {"g()", "g"}}));
    EXPECT_EQ(pairingNames(b, a), (Names{{"f<int>(int*)", "f<int>(int*)"}, {"f<half>(half*)", "f"}}));
}

TEST_F(Inside, PairsInstructionsOfTwoRunsByTheirShapes)
{
    const auto a = write("before.tscope", {read(0, 200, 30, 0), read(0, 200, 70, 1)},
                         {"LDG.E R4, [R2.64]", "FADD R1, R2, R3"});
    const auto b = write("after.tscope", {read(0, 200, 50, 0), read(0, 200, 25, 1), read(0, 200, 25, 2)},
                         {"MOV R9, R8", "LDG.E R7, [R6.64]", "FADD R11, R2, R5"});
    const InsideDifference all =
        insideDifference(store::RunReader(a), {}, store::RunReader(b), {.group = InsideGroup::Instruction});
    ASSERT_THAT(all.rows, SizeIs(3));
    const auto rowOf = [&](const std::string& start) {
        return *std::ranges::find_if(all.rows,
                                     [&](const auto& row) { return row.instruction.starts_with(start); });
    };
    EXPECT_EQ(rowOf("LDG.E R7").offsetA, 0);
    EXPECT_EQ(rowOf("LDG.E R7").offsetB, 16);
    EXPECT_DOUBLE_EQ(rowOf("LDG.E R7").shareA.value_or(0), 0.3);
    EXPECT_DOUBLE_EQ(rowOf("LDG.E R7").shareB.value_or(0), 0.25);
    EXPECT_DOUBLE_EQ(rowOf("FADD R11").points(), -45);
    EXPECT_FALSE(rowOf("MOV").shareA);
    double delta = 0;
    for (const InsideDifferenceRow& row : all.rows)
        delta += row.delta().value_or(1e9);
    EXPECT_NEAR(delta, 0, 1) << "the kernel takes as long in both";
}

} // namespace tilescope::query
