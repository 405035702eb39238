#include "core/model/step_name.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tilescope {
namespace {

TEST(StepName, SaysWhatTheStepDoes)
{
    const std::vector<std::pair<std::string_view, StepType>> names{
        {"step[DECODE bs=32]", StepType::Decode},
        {"step[EXTEND bs=15 toks=15360]", StepType::Prefill},
        {"step[IDLE bs=0]", StepType::Other},
        {"execute_context_1(888_788544)_generation_0(0)", StepType::Prefill},
        {"execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)",
         StepType::Decode},
        {"execute_8192_context_9(sq8155sk8430)_generation_37(sq37sk1)", StepType::Prefill},
        {"execute_new_0_cached_12", StepType::Decode},
        {"execute_new_2_cached_12", StepType::Prefill},
        {"execute_model", StepType::Other},
        {"[Executor] _forward_step 7: 0 ctx reqs, 0 ctx tokens, 3 gen reqs", StepType::Decode},
        {"[Executor] _forward_step: 2 ctx reqs, 3 gen reqs", StepType::Prefill},
        {"[pl][profile]run_training_batch", StepType::Train},
        {"[pl][profile][Strategy]SingleDeviceStrategy.validation_step", StepType::Validation},
        {"train_step 3", StepType::Train},
        {"eval_step_3", StepType::Validation},
        {"generate", StepType::Generate},
        {"decode_step 3", StepType::Decode},
        {"ProfilerStep#3", StepType::Other}};
    for (const auto& [name, type] : names)
        EXPECT_EQ(stepTypeOf(name), type) << name << ": " << wordOf(stepTypeOf(name));
}

TEST(StepName, NamesTheFrameworkThatMarksIt)
{
    EXPECT_EQ(frameworkOfStep("step[DECODE bs=32]"), "SGLang");
    EXPECT_EQ(frameworkOfStep("execute_32_context_0()_generation_32()"), "vLLM");
    EXPECT_EQ(frameworkOfStep("[Executor] _forward_step: 2 ctx reqs, 3 gen reqs"), "TensorRT-LLM");
    EXPECT_EQ(frameworkOfStep("execute_kernel"), "");
    EXPECT_EQ(frameworkOfStep("MyModel.validation_step"), "") << "not by Lightning's profiler";
}

} // namespace
} // namespace tilescope
