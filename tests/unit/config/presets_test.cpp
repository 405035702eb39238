#include "core/config/spec_file.h"

#include <gtest/gtest.h>

namespace tilescope::config {

ExperimentSpec lmOf(const std::string& size)
{
    return specFromOverrides(Workload::Lm, {{"size", size}}).front();
}

TEST(Presets, HaveTheirParameterCounts)
{
    EXPECT_EQ(parameterCount(lmOf("small")), 128'625'408);
    EXPECT_EQ(parameterCount(lmOf("medium")), 423'183'360);
    EXPECT_EQ(parameterCount(lmOf("large")), 969'411'840);
    EXPECT_EQ(parameterCount(lmOf("xl")), 1'998'235'200);
    EXPECT_EQ(parameterCount(lmOf("2.7B")), 3'406'809'600);
    EXPECT_EQ(parameterCount(lmOf("xl-2026")), 3'406'809'600);
    EXPECT_EQ(parameterCount(lmOf("10B")), 12'832'823'808);
    EXPECT_EQ(parameterCount(lmOf("8B")), 6'962'958'336);
    EXPECT_EQ(parameterCount(lmOf("8B-32k")), 8'125'698'048);
}

TEST(Presets, StandFromSmallToLarge)
{
    std::vector<std::string> names;
    for (const SizePreset& preset : sizePresets())
        names.push_back(preset.name);
    EXPECT_EQ(names, (std::vector<std::string>{"tiny", "small", "medium", "large", "xl", "2.7B", "xl-2026",
                                               "8B", "8B-32k", "10B"}));
}

TEST(Presets, GiveDefaultsOfFurtherKeys)
{
    const ExperimentSpec spec =
        specFromOverrides(Workload::Lm, {{"size", "8B-32k"}, {"context", "4096"}}).front();
    EXPECT_EQ(spec.batch, 2);
    EXPECT_EQ(spec.context, 4096);
    EXPECT_EQ(spec.vocab, 151'936);
    EXPECT_EQ(spec.precision, Precision::Bf16);
    EXPECT_EQ(spec.mode, Mode::Train);
    EXPECT_EQ(spec.loss, LossKind::CrossEntropy);
    EXPECT_EQ(lmOf("8B").batch, 4);
    EXPECT_EQ(lmOf("8B").context, 128);
}

TEST(Presets, SetTheNumbersThatAreNotOverridden)
{
    const ExperimentSpec spec =
        specFromOverrides(Workload::Lm, {{"size", "tiny"}, {"layers", "3"}, {"d-ff", "256"}}).front();
    EXPECT_EQ(spec.dModel, 128);
    EXPECT_EQ(spec.dFf, 256);
    EXPECT_EQ(spec.layers, 3);
    EXPECT_EQ(spec.heads, 4);
}

} // namespace tilescope::config
