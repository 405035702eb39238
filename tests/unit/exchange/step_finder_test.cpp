#include "core/exchange/import/step_finder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {
namespace {

using ::testing::ElementsAre;

std::vector<std::int64_t> startsOf(const FoundSteps& found)
{
    std::vector<std::int64_t> starts;
    for (const FoundStep& step : found.steps)
        starts.push_back(step.start);
    return starts;
}

TEST(StepFinder, TakesMarkedRangesThenNamedOnesThenUpdates)
{
    const std::vector<StepCandidate> all{{"Optimizer.step#AdamW.step", 0, 1, 80, 90, false},
                                         {"iteration 4", 1, 1, 0, 95, false},
                                         {"ProfilerStep#7", 2, 1, 0, 99, true},
                                         {"iteration 5", 3, 1, 100, 195, false},
                                         {"Optimizer.step#AdamW.step", 4, 1, 180, 190, false},
                                         {"ProfilerStep#8", 5, 1, 100, 199, true}};
    const FoundSteps marked = stepsFromRanges(all, -5);
    EXPECT_EQ(marked.source, "ProfilerStep");
    EXPECT_THAT(startsOf(marked), ElementsAre(0, 100));
    EXPECT_EQ(marked.steps[1].number, 8);
    EXPECT_EQ(marked.steps[1].range, 5u);
    EXPECT_FALSE(marked.isInferred);
    const std::vector<StepCandidate> named{all[0], all[1], all[3], all[4]};
    EXPECT_EQ(stepsFromRanges(named, -5).steps.at(0).number, 4);
    const std::vector<StepCandidate> updates{all[0], all[4]};
    const FoundSteps between = stepsFromRanges(updates, -5);
    EXPECT_TRUE(between.isInferred);
    EXPECT_THAT(startsOf(between), ElementsAre(-5, 90));
    EXPECT_EQ(between.steps[1].end, 190);
}

TEST(StepFinder, TakesTheIterationsThatFrameworksMark)
{
    for (const auto& [name, source] :
         {std::pair("step[DECODE bs=32]", "marks of SGLang"),
          std::pair("execute_context_0(0)_generation_32(32)", "marks of vLLM"),
          std::pair("[Executor] _forward_step 7: 0 ctx reqs, 3 gen reqs", "marks of TensorRT-LLM"),
          std::pair("[pl][profile]run_training_batch", "marks of Lightning")}) {
        EXPECT_TRUE(mayDelimitSteps(name));
        const std::vector<StepCandidate> ranges{{name, 0, 1, 0, 90, false},
                                                {"Optimizer.step#AdamW.step", 1, 1, 80, 90, false},
                                                {name, 2, 1, 100, 190, false},
                                                {"Optimizer.step#AdamW.step", 3, 1, 180, 190, false}};
        const FoundSteps found = stepsFromRanges(ranges, -5);
        EXPECT_EQ(found.source, source);
        EXPECT_FALSE(found.isInferred);
        EXPECT_THAT(startsOf(found), ElementsAre(0, 100)) << name;
    }
    EXPECT_FALSE(mayDelimitSteps("execute_kernel"));
}

TEST(StepFinder, TakesASingleMarkOfAFramework)
{
    const std::string name =
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)";
    EXPECT_TRUE(mayDelimitSteps(name)) << "however long it is";
    const std::vector<StepCandidate> ranges{{name, 0, 1, 10, 90, false}};
    const FoundSteps found = stepsFromRanges(ranges, 0);
    EXPECT_EQ(found.source, "marks of vLLM");
    EXPECT_THAT(startsOf(found), ElementsAre(10));
}

TEST(StepFinder, TakesWhatTheUserChooses)
{
    std::vector<StepCandidate> ranges{{"ProfilerStep#1", 0, 1, 0, 99, true},
                                      {"epoch 1", 1, 1, 10, 50, false, true},
                                      {"epoch 2", 2, 1, 50, 90, false, true}};
    const FoundSteps found = stepsFromRanges(ranges, 0);
    EXPECT_EQ(found.source, "user's choice: epoch");
    EXPECT_THAT(startsOf(found), ElementsAre(10, 50));
}

TEST(StepFinder, OptimizersThatTakeTurnsEndOneStepTogether)
{
    std::vector<StepCandidate> updates;
    for (std::size_t i = 0; i < 6; ++i)
        updates.push_back({i % 2 == 0 ? "Optimizer.step#Adam.step" : "Optimizer.step#SGD.step", i, 1,
                           static_cast<std::int64_t>(100 * i + 50), static_cast<std::int64_t>(100 * i + 90),
                           false});
    const FoundSteps found = stepsFromRanges(updates, 0);
    EXPECT_THAT(startsOf(found), ElementsAre(0, 190, 390)) << "from one SGD.step to the next";
    updates[3].name = "Optimizer.step#Adam.step"; // now they do not take turns
    EXPECT_EQ(stepsFromRanges(updates, 0).steps.size(), 6u);
}

TEST(StepFinder, StepsOfJaxGoFromOneExecutionToTheNext)
{
    std::vector<StepCandidate> ranges;
    for (std::int64_t i = 0; i < 3; ++i) {
        ranges.push_back({"PjitFunction(train_step)", 0, 1, 100 * i, 100 * i + 40, false});
        ranges.push_back({"PjitFunction(train_step)", 0, 1, 100 * i + 1, 100 * i + 39, false});
        ranges.push_back({"PjitFunction(log)", 0, 1, 100 * i + 50, 100 * i + 55, false});
    }
    EXPECT_TRUE(mayDelimitSteps("PjitFunction(train_step)"));
    const FoundSteps found = stepsFromRanges(ranges, -5);
    EXPECT_EQ(found.source, "executions of train_step (JAX)");
    EXPECT_TRUE(found.isInferred);
    EXPECT_THAT(startsOf(found), ElementsAre(0, 100, 200));
    EXPECT_EQ(found.steps[0].end, 100);
    EXPECT_EQ(found.steps[2].end, 240) << "the last one is as long as its call";
}

TEST(StepFinder, StepsOfJaxAreModulesThatXlaNames)
{
    constexpr std::string_view kStep = "XlaModule:#prefix=args[0],hlo_module=jit_train_step,program_id=33#";
    constexpr std::string_view kUpdate = "XlaModule:#hlo_module=jit_subtract,program_id=80#";
    constexpr std::string_view kTried = "XlaModule:#hlo_module=gemm_fusion_dot.7#";
    EXPECT_TRUE(mayDelimitSteps(kStep));
    EXPECT_FALSE(mayDelimitSteps(kTried)) << "the autotuner tries it";
    std::vector<StepCandidate> ranges;
    for (std::int64_t i = 0; i < 5; ++i) {
        ranges.push_back({kStep, 0, 1, 100 * i, 100 * i + 20, false});
        for (std::int64_t k = 0; k < 6; ++k) // take longer together
            ranges.push_back({kUpdate, 0, 1, 100 * i + 30 + 10 * k, 100 * i + 39 + 10 * k, false});
    }
    const FoundSteps found = stepsFromRanges(ranges, -5);
    EXPECT_EQ(found.source, "executions of train_step (JAX)");
    EXPECT_THAT(startsOf(found), ElementsAre(0, 100, 200, 300, 400));

    std::vector<StepCandidate>
        all; // the set-up takes longer than all steps, and executes a function less often
    for (std::int64_t i = 0; i < 3; ++i)
        all.push_back(
            {"XlaModule:#hlo_module=jit__normal,program_id=2#", 0, 1, 300 * i - 900, 300 * i - 890, false});
    all.insert(all.end(), ranges.begin(), ranges.end());
    EXPECT_EQ(stepsFromRanges(all, -1000).source, "executions of train_step (JAX)");

    for (StepCandidate& each : ranges) // a function of the set-up
        if (each.name == kStep)
            each.start = each.end = 0;
    EXPECT_EQ(stepsFromRanges(ranges, -5).source, "executions of subtract (JAX)");
}

TEST(StepFinder, FindsThePeriodOfKernelsAndBeginsAtTheLongestPause)
{
    std::vector<KernelInstant> kernels;
    std::int64_t time = 0;
    for (std::uint32_t name : {90U, 91U, 92U}) // set-up
        kernels.push_back({name, time += 10, time + 5});
    for (int step = 0; step < 6; ++step) {
        time += 1000; // pause before kernel 2 of the period
        for (const std::uint32_t name : {2U, 3U, 3U, 4U, 1U})
            kernels.push_back({name, time += 10, time + 5});
    }
    const FoundSteps found = stepsFromKernels(kernels);
    EXPECT_TRUE(found.isInferred);
    ASSERT_EQ(found.steps.size(), 6u);
    for (std::size_t i = 0; i < found.steps.size(); ++i)
        EXPECT_EQ(found.steps[i].start, kernels[3 + 5 * i].start);
}

TEST(StepFinder, FindsNoPeriodInIrregularKernels)
{
    std::vector<KernelInstant> kernels;
    for (std::uint32_t i = 0; i < 100; ++i)
        kernels.push_back({i * i % 97, i * 10, i * 10 + 5});
    EXPECT_TRUE(stepsFromKernels(kernels).steps.empty());
    EXPECT_TRUE(stepsFromKernels({}).steps.empty());
}

} // namespace
} // namespace tilescope::exchange
