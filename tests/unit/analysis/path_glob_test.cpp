#include "core/analysis/time/path_glob.h"

#include "core/base/error.h"

#include <gtest/gtest.h>

namespace tilescope::analysis {

namespace {

struct Case {
    const char* pattern;
    const char* path;
    bool matches;
    bool contains;
};

constexpr const char* kSoftmax = "step/forward/layers.3/attention/softmax";

} // namespace

TEST(PathGlob, MatchesByComponents)
{
    const Case cases[] = {
        {"step", "step", true, true},
        {"step", "step/forward", false, true},
        {"step/forward", "step", false, false},
        {"step/*", "step/forward", true, true},
        {"step/*", "step/forward/layers.3", false, true},
        {"step/**", "step", true, true},
        {"step/**", kSoftmax, true, true},
        {"**", kSoftmax, true, true},
        {"**/attention/**", kSoftmax, true, true},
        {"**/attention/**", "step/forward/layers.3/attention", true, true},
        {"**/attention", kSoftmax, false, true},
        {"**/softmax", kSoftmax, true, true},
        {"**/layers.*/**", kSoftmax, true, true},
        {"**/layers.?/**", kSoftmax, true, true},
        {"**/layers.?/**", "step/forward/layers.12/mlp", false, false},
        {"**/l*s.*3/**", kSoftmax, true, true},
        {"step/*/layers.3/**/softmax", kSoftmax, true, true},
        {"step/backward/**", kSoftmax, false, false},
        {"**/**/**", "step", true, true},
        {"*", "step", true, true},
        {"*", "step/forward", false, true},
        {"attention", kSoftmax, false, false},
        {"**/softm", kSoftmax, false, false},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(PathGlob(each.pattern).matches(each.path), each.matches)
            << each.pattern << " on " << each.path;
        EXPECT_EQ(PathGlob(each.pattern).contains(each.path), each.contains)
            << each.pattern << " in " << each.path;
    }
}

TEST(PathGlob, RejectsInvalidPatterns)
{
    for (const char* pattern : {"", "/", "a//b", "/a", "a/", "a**", "**b/c"})
        EXPECT_THROW(PathGlob{pattern}, Error) << pattern;
}

TEST(PathGlob, ManyStarsStayCheap)
{
    std::string pattern = "**";
    std::string path = "a";
    for (int i = 0; i < 200; ++i) {
        pattern += "/**/*a*a*a*";
        path += "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    }
    EXPECT_FALSE(PathGlob(pattern + "/b").matches(path));
}

TEST(Paths, AreReadFromTheStepDown)
{
    EXPECT_EQ(fromStepDown("trace/step/forward"), "step/forward");
    EXPECT_EQ(fromStepDown("trace/step"), "step");
    EXPECT_EQ(fromStepDown("step/forward"), "step/forward");
    EXPECT_EQ(fromStepDown("warmup"), "warmup");
    EXPECT_EQ(fromStepDown("footstep/x"), "footstep/x");
    EXPECT_EQ(belowStep("step/forward/layers.3"), "forward/layers.3");
    EXPECT_EQ(belowStep("step"), "step");
    EXPECT_EQ(belowStep("warmup/step/x"), "warmup/step/x");
    EXPECT_EQ(phaseOf("step/backward/layers.3"), "backward");
    EXPECT_EQ(phaseOf("step"), "");
    EXPECT_EQ(moduleOf("trace/step/backward/layers.3/attention"), "layers.3/attention");
    EXPECT_EQ(moduleOf("step/backward"), "");
}

TEST(Paths, KnowWhatWrapsAModule)
{
    for (const char* wrapper :
         {"DataParallel", "DistributedDataParallel_0", "FullyShardedDataParallel.forward", "DeepSpeedEngine",
          "OptimizedModule", "module", "_orig_mod", "## Call CompiledFxGraph abc ##",
          "Torch-Compiled Region: 0/1"})
        EXPECT_TRUE(isModuleWrapper(wrapper)) << wrapper;
    for (const char* module : {"module_list", "modules.3", "LlamaForCausalLM", "DataParallelism", "Linear_0",
                               "DeepSpeedEngine.step", "DataParallel_x"})
        EXPECT_FALSE(isModuleWrapper(module)) << module;
}

} // namespace tilescope::analysis
