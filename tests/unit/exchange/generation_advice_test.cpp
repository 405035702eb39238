// Advice for programs that generate text, on recordings of simulated programs whose answers are known.

#include "core/exchange/import/importer.h"
#include "core/query/advice/advice_table.h"
#include "core/query/generation/generation_table.h"
#include "tests/support/simulator/execution.h"
#include "tests/support/simulator/kineto_recording.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::exchange {
namespace {

using analysis::AdviceRule;
using simulator::Action;
using simulator::Duration;
using simulator::Instruction;
using simulator::Work;

constexpr Duration us(std::int64_t microseconds)
{
    return Duration(1000 * microseconds);
}

Instruction kernel(const char* name, Work work, Duration duration)
{
    return {.action = Action::Launch,
            .work = work,
            .duration = duration,
            .call = us(4),
            .latency = us(5),
            .gap = us(1),
            .name = name};
}

Instruction product(Duration duration)
{
    return kernel("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", Work::Matmul, duration);
}

Instruction attention(Duration duration)
{
    return kernel("flash_fwd_splitkv_kernel", Work::Attention, duration);
}

Instruction copy(simulator::CopyKind kind, std::int64_t bytes, Duration duration)
{
    Instruction made = kernel("", Work::Copy, duration);
    made.action = Action::Copy;
    made.copy = kind;
    made.bytes = bytes;
    return made;
}

Instruction host(Duration duration)
{
    return {.action = Action::Compute, .duration = duration};
}

Instruction waiting()
{
    return {.action = Action::SyncStream, .call = us(1)};
}

/// A server whose iterations are marked as those of vLLM. Each waits for its tokens at its end.
struct Server {
    std::int64_t sequences = 4;
    std::int64_t context = 1000; ///< of the first iteration
    int iterations = 20;
    std::int64_t contextStep = 1;
    /// What an iteration does.
    std::function<std::vector<Instruction>(int iteration, std::int64_t context)> decode;
    std::function<bool(int)> isPrefill = [](int) { return false; };

    Instruction iteration(int number) const
    {
        const std::int64_t tokens = context + contextStep * number;
        const std::string n = std::to_string(sequences);
        const bool prefills = isPrefill(number);
        Instruction range{.action = Action::Range,
                          .range = simulator::RangeKind::Annotation,
                          .name = prefills ? "execute_context_2(sq2000sk2000)_generation_0(sq0sk0)"
                                           : "execute_context_0(sq0sk0)_generation_" + n + "(sq" + n + "sk" +
                                                 std::to_string(sequences * tokens) + ")"};
        range.body =
            prefills ? std::vector<Instruction>{host(us(20)), product(us(3000))} : decode(number, tokens);
        range.body.push_back(waiting());
        return range;
    }
};

class GenerationAdvice : public ::testing::Test {
protected:
    query::AdviceTable judge(const Server& server)
    {
        simulator::SimulatedProgram program;
        simulator::SimulatedThread thread{.number = 4711};
        for (int i = 0; i < server.iterations; ++i)
            thread.instructions.push_back(server.iteration(i));
        program.threads.push_back(std::move(thread));
        execution_ = simulator::execute(program);
        const std::filesystem::path trace = folder_.path() / ("trace" + std::to_string(++files_) + ".json");
        std::ofstream(trace) << simulator::kinetoRecording(program, execution_, 0);
        const std::filesystem::path file = folder_.path() / ("a" + std::to_string(files_) + ".tscope");
        importFiles(std::vector{trace}, file);
        const store::RunReader reader(file);
        generation_ = query::generation(reader, {});
        return query::advice(reader, {});
    }
    static const query::Advice* find(const query::AdviceTable& table, AdviceRule rule)
    {
        const auto row = std::ranges::find(table.rows, rule, &query::Advice::rule);
        return row == table.rows.end() ? nullptr : &*row;
    }
    /// Time of a kind of work, of all iterations.
    double timeOf(Work work) const
    {
        double sum = 0;
        for (const simulator::ExecutedWork& each : execution_.works)
            sum += each.work == work ? static_cast<double>((each.end - each.start).count()) : 0;
        return sum;
    }

    testing::TemporaryFolder folder_;
    int files_ = 0;
    simulator::Execution execution_;
    query::GenerationTable generation_;
};

std::vector<Instruction> hostBound(int /*iteration*/, std::int64_t /*context*/)
{
    return {host(us(900)), product(us(60)), attention(us(20))};
}

std::vector<Instruction> gpuBound(int /*iteration*/, std::int64_t /*context*/)
{
    return {host(us(5)), product(us(2000)), attention(us(300))};
}

TEST_F(GenerationAdvice, IterationsAreAsMarked)
{
    judge({.decode = hostBound});
    ASSERT_EQ(generation_.rows.size(), 20U);
    EXPECT_EQ(generation_.rows[3].iteration.sequences, 4);
    EXPECT_EQ(generation_.rows[3].iteration.context, 1003);
    double products = 0;
    double attentions = 0;
    for (const query::GenerationRow& row : generation_.rows) {
        products += static_cast<double>(row.part(query::GenerationPart::Products).count());
        attentions += static_cast<double>(row.part(query::GenerationPart::Attention).count());
    }
    EXPECT_DOUBLE_EQ(products, timeOf(Work::Matmul));
    EXPECT_DOUBLE_EQ(attentions, timeOf(Work::Attention));
}

TEST_F(GenerationAdvice, HostBoundDecodeIsTheIdleTime)
{
    const query::AdviceTable table = judge({.decode = hostBound});
    const query::Advice* const found = find(table, AdviceRule::HostBoundDecode);
    ASSERT_NE(found, nullptr);
    const double idle = static_cast<double>(table.wall.count()) -
                        (timeOf(Work::Matmul) + timeOf(Work::Attention)) * static_cast<double>(table.steps) /
                            static_cast<double>(generation_.rows.size());
    EXPECT_NEAR(static_cast<double>(found->atStake.count()), idle, 0.01 * idle);
    EXPECT_EQ(find(judge({.decode = gpuBound}), AdviceRule::HostBoundDecode), nullptr);
}

TEST_F(GenerationAdvice, AttentionThatGrowsWithTheContext)
{
    const auto growing = [](int /*iteration*/, std::int64_t context) {
        return std::vector{host(us(5)), product(us(500)), attention(us(context / 10))};
    };
    const query::AdviceTable table = judge({.context = 1000, .contextStep = 200, .decode = growing});
    const query::Advice* const found = find(table, AdviceRule::GrowingAttention);
    ASSERT_NE(found, nullptr);
    double more = 0; // 20 us for each 200 tokens
    for (const query::GenerationRow& row : generation_.rows)
        if (table.choice.isTypical(row.numbers.process, *row.iteration.step))
            more += (*row.iteration.context - 1000) * 100;
    EXPECT_NEAR(static_cast<double>(found->atStake.count()), more, 0.05 * more);
    const auto constant = [](int iteration, std::int64_t /*context*/) {
        return std::vector{host(us(5)), product(us(500)), attention(us(200 + iteration % 3))};
    };
    EXPECT_EQ(find(judge({.contextStep = 200, .decode = constant}), AdviceRule::GrowingAttention), nullptr);
}

TEST_F(GenerationAdvice, SmallBatchesReadAllWeights)
{
    const query::AdviceTable table = judge({.sequences = 4, .decode = gpuBound});
    const query::Advice* const found = find(table, AdviceRule::SmallBatch);
    ASSERT_NE(found, nullptr);
    const double half = timeOf(Work::Matmul) / 2 * static_cast<double>(table.steps) /
                        static_cast<double>(generation_.rows.size());
    EXPECT_NEAR(static_cast<double>(found->atStake.count()), half, 0.01 * half);
    EXPECT_EQ(find(judge({.sequences = 128, .decode = gpuBound}), AdviceRule::SmallBatch), nullptr)
        << "4.9 TB/s and 989 TFLOP/s meet at 206 sequences";
    EXPECT_NE(found->sentence.find("weights in bf16"), std::string::npos) << found->sentence;
}

TEST_F(GenerationAdvice, SmallBatchesDependOnTheFormatOfTheWeights)
{
    const auto inFp32 = [](int /*iteration*/, std::int64_t /*context*/) {
        return std::vector{host(us(5)), kernel("ampere_sgemm_128x64_tn", Work::Matmul, us(500)),
                           attention(us(50))};
    };
    const query::AdviceTable table = judge({.sequences = 4, .decode = inFp32});
    const query::Advice* const found = find(table, AdviceRule::SmallBatch);
    ASSERT_NE(found, nullptr);
    EXPECT_NE(found->sentence.find("up to about 28 take nearly the same time (weights in fp32"),
              std::string::npos)
        << found->sentence;
    EXPECT_EQ(find(judge({.sequences = 16, .decode = inFp32}), AdviceRule::SmallBatch), nullptr);
}

TEST_F(GenerationAdvice, PrefillStallsDecode)
{
    const auto isSixth = [](int iteration) { return iteration % 6 == 3; };
    const query::AdviceTable table = judge({.iterations = 60, .decode = gpuBound, .isPrefill = isSixth});
    const query::Advice* const found = find(table, AdviceRule::StallingPrefill);
    ASSERT_NE(found, nullptr);
    double prefill = 0;
    for (const query::GenerationRow& row : generation_.rows)
        prefill += row.iteration.type == StepType::Prefill ? static_cast<double>(row.wall().count()) : 0;
    EXPECT_GE(prefill, 10 * 3e6);
    EXPECT_NEAR(static_cast<double>(found->atStake.count()), prefill, 1);
    EXPECT_EQ(find(judge({.decode = gpuBound}), AdviceRule::StallingPrefill), nullptr);
    EXPECT_EQ(find(judge({.decode = gpuBound, .isPrefill = [](int i) { return i == 0; }}),
                   AdviceRule::StallingPrefill),
              nullptr)
        << "nobody is decoded before the first prompt";
}

TEST_F(GenerationAdvice, TokensThatTheHostChooses)
{
    const auto onHost = [](int /*iteration*/, std::int64_t /*context*/) {
        return std::vector{
            host(us(5)), product(us(500)), copy(simulator::CopyKind::DeviceToHost, 4 * 128'000, us(40)),
            waiting(),   host(us(300)),    copy(simulator::CopyKind::HostToDevice, 32, us(2))};
    };
    const query::AdviceTable table = judge({.decode = onHost});
    const query::Advice* const found = find(table, AdviceRule::HostSampling);
    ASSERT_NE(found, nullptr);
    const double ofOne = static_cast<double>(found->atStake.count()) / static_cast<double>(table.steps);
    EXPECT_GE(ofOne, 340e3);
    EXPECT_LE(ofOne, 380e3);
    const auto onGpu = [](int /*iteration*/, std::int64_t /*context*/) {
        return std::vector{host(us(5)), product(us(500)),
                           copy(simulator::CopyKind::DeviceToHost, 4 * 8, us(3)), waiting(), host(us(300))};
    };
    EXPECT_EQ(find(judge({.decode = onGpu}), AdviceRule::HostSampling), nullptr) << "ids of tokens";
}

TEST_F(GenerationAdvice, CopiesInEachIteration)
{
    const auto copying = [](bool always) {
        return [always](int iteration, std::int64_t /*context*/) {
            std::vector all{host(us(5)), product(us(500))};
            if (always || iteration == 4)
                all.insert(all.begin() + 1, copy(simulator::CopyKind::HostToDevice, 4'000'000, us(80)));
            return all;
        };
    };
    const query::AdviceTable table = judge({.decode = copying(true)});
    const query::Advice* const found = find(table, AdviceRule::IterationCopies);
    ASSERT_NE(found, nullptr);
    EXPECT_NEAR(static_cast<double>(found->atStake.count()), 80e3 * static_cast<double>(table.steps), 1);
    EXPECT_EQ(find(judge({.decode = copying(false)}), AdviceRule::IterationCopies), nullptr);
}

TEST_F(GenerationAdvice, ProgramsThatDoNotGenerateHaveNoneOfTheRules)
{
    simulator::SimulatedProgram program;
    simulator::SimulatedThread thread{.number = 4711};
    for (int i = 0; i < 10; ++i)
        thread.instructions.push_back({.action = Action::Range,
                                       .number = i,
                                       .range = simulator::RangeKind::Step,
                                       .name = "ProfilerStep#" + std::to_string(i),
                                       .body = {host(us(900)), product(us(60)), waiting()}});
    program.threads.push_back(std::move(thread));
    const std::filesystem::path trace = folder_.path() / "trace.json";
    std::ofstream(trace) << simulator::kinetoRecording(program, simulator::execute(program), 0);
    importFiles(std::vector{trace}, folder_.path() / "a.tscope");
    const store::RunReader reader(folder_.path() / "a.tscope");
    const query::AdviceTable table = query::advice(reader, {});
    const auto isOfGeneration = [](AdviceRule rule) { return rule >= analysis::kFirstOfGeneration; };
    EXPECT_TRUE(std::ranges::none_of(table.rows, isOfGeneration, &query::Advice::rule));
    EXPECT_TRUE(std::ranges::none_of(table.silent, isOfGeneration));
    EXPECT_TRUE(std::ranges::none_of(table.unjudged, isOfGeneration, &query::UnjudgedRule::rule));
    EXPECT_GE(table.steps, 1);
}

} // namespace
} // namespace tilescope::exchange
