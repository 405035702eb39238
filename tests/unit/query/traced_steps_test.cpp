#include "core/query/steps/traced_steps.h"

#include "core/query/steps/step_types.h"
#include "core/query/steps/typical_steps.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace tilescope::query {

namespace {

/// The events that belong to a step, by start and end.
template <class Event>
std::multiset<std::pair<std::int64_t, std::int64_t>> placesOf(const std::vector<Event>& events,
                                                              std::int32_t step)
{
    std::multiset<std::pair<std::int64_t, std::int64_t>> places;
    for (const Event& event : events)
        if (event.step == step)
            places.emplace(nanosecondsOf(event.start), nanosecondsOf(event.end));
    return places;
}

} // namespace

TEST(StepTypes, AreWhatTheRangesOfAStepSay)
{
    const testing::TemporaryFolder folder;
    testing::FakeTrace trace;
    const std::vector<std::pair<std::vector<std::string_view>, StepType>> steps{
        {{"prefill"}, StepType::Prefill},
        {{"decode"}, StepType::Decode},
        {{"prefill", "decode", "sample", "decode"}, StepType::Generate},
        {{"generate"}, StepType::Generate},
        {{"prefill", "decode", "forward", "backward", "optimizer"}, StepType::Train},
        {{"forward"}, StepType::Other}};
    std::int32_t number = 0;
    for (const auto& [phases, type] : steps) {
        const std::int64_t start = 1000 * (number + 1);
        trace.step(number++, start, start + 900);
        for (std::size_t i = 0; i < phases.size(); ++i)
            trace.range("step/" + std::string(phases[i]), start + 100 * std::int64_t(i),
                        start + 100 * std::int64_t(i) + 90);
    }
    {
        store::RunWriter writer(folder / "a.tscope", trace.strings());
        writer.beginRun({"test", "lm", "{}", "hash", "test"});
        writer.write(trace.batch());
        writer.endRun({});
    }
    const StepTypes types = stepTypes(store::RunReader(folder / "a.tscope"), RunId{1});
    ASSERT_EQ(types.size(), steps.size());
    for (const auto& [key, type] : types)
        EXPECT_EQ(type, steps[static_cast<std::size_t>(key.second)].second) << key.second;
}

TEST(StepChoice, OfAnOwnRunLeavesOutFirstStepsThatAreMuchLonger)
{
    const testing::TemporaryFolder folder;
    const auto choiceWith = [&](std::int64_t first) {
        const std::filesystem::path file = folder / (std::to_string(first) + ".tscope");
        testing::FakeTrace trace;
        std::int64_t at = 1000;
        for (std::int32_t step = 0; step < 6; ++step) {
            const std::int64_t length = step == 0 ? first : 17'000;
            trace.step(step, at, at + length);
            trace.kernel("gemm", at + length - 5000, at + length).launchedAt(at);
            at += length + 1000;
        }
        {
            store::RunWriter writer(file, trace.strings());
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            writer.write(trace.batch());
            writer.endRun({});
        }
        return stepChoice(store::RunReader(file), RunId{1});
    };
    EXPECT_EQ(choiceWith(348'000).summary, "5 of 6 steps; step 0 starts up (348 µs)");
    EXPECT_TRUE(choiceWith(34'000).leftOut.empty()) << "they follow steps that were not traced";
}

TEST(TracedSteps, ContainAllEventsOfTheStepsTogether)
{
    const unsigned seed = 5;
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const testing::TemporaryFolder folder;
    const std::filesystem::path file = folder / "a.tscope";
    StringTable strings;
    {
        store::RunWriter writer(file, strings);
        for (int run = 0; run < 2; ++run) {
            writer.beginRun({"test", "lm", "{}", "hash", "test"});
            testing::FakeTrace trace(strings);
            for (std::int32_t step = 0; step < 20; ++step) {
                const std::int64_t at = 1000 * step;
                trace.step(step, at, at + 900);
                for (int i = 0; i < 60; ++i) {
                    const std::int64_t start = at + random() % 800;
                    trace.op("aten::mm", start, start + random() % 100).at("step/forward");
                    // Kernels may run long after the step's range has ended; some have no duration.
                    const std::int64_t launched = start + random() % 3000;
                    trace.kernel("gemm", launched, launched + random() % 3 * 500).at("step/forward");
                }
            }
            trace.betweenSteps().op("aten::add", 50, 60).memset(64, 70, 80);
            writer.write(trace.batch());
            writer.endRun({});
        }
    }
    const store::RunReader reader(file);
    for (const RunId run : {RunId{1}, RunId{2}}) {
        const auto ranges = reader.ranges({.run = run});
        const auto ops = reader.ops({.run = run});
        const auto device = reader.deviceEvents({.run = run});
        std::vector<std::int32_t> steps;
        const std::size_t count = eachTracedStep(reader, run, [&](const TracedStep& traced) {
            steps.push_back(traced.step);
            EXPECT_EQ(placesOf(traced.ranges, traced.step), placesOf(ranges, traced.step));
            EXPECT_EQ(placesOf(traced.ops, traced.step), placesOf(ops, traced.step));
            EXPECT_EQ(placesOf(traced.device, traced.step), placesOf(device, traced.step));
            EXPECT_EQ(traced.device.size(), 60u) << "nothing of another step";
            EXPECT_EQ(traced.ops.size(), 60u);
        });
        EXPECT_EQ(count, 20u);
        ASSERT_EQ(steps.size(), 20u);
        EXPECT_TRUE(std::ranges::is_sorted(steps));
    }
}

} // namespace tilescope::query
