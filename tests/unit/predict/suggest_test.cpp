#include "core/predict/suggest.h"

#include "core/predict/predict_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tilescope::predict {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::Not;

TargetDevice hopperWith(std::int64_t bytes)
{
    return {.isCuda = true, .capacity = Bytes{bytes}};
}

std::vector<std::string> flagsOf(const std::vector<Suggestion>& suggestions)
{
    std::vector<std::string> flags;
    for (const Suggestion& suggestion : suggestions)
        flags.push_back(suggestion.flags());
    return flags;
}

TEST(Suggestions, NameFittingChangesAndTheirPeak)
{
    ExperimentSpec spec;
    spec.workload = Workload::Attention;
    spec.seqLen = spec.kvLen = 8192; // 8 GiB of scores, thrice
    const TargetDevice device = hopperWith(std::int64_t{5} << 30);
    ASSERT_TRUE(predictMemory(spec, device)->outOfMemory);
    const auto found = suggestions(spec, device);
    EXPECT_THAT(flagsOf(found), Contains("--set backend=flash"));
    EXPECT_THAT(flagsOf(found), Contains("--set batch=2"));
    EXPECT_THAT(flagsOf(found), Contains("--set seq_len=4096"));
    for (const Suggestion& suggestion : found) {
        EXPECT_LE(suggestion.peakReserved->count, device.capacity->count) << suggestion.flags();
        EXPECT_GT(suggestion.peakAllocated.count, 0);
    }
}

TEST(Suggestions, RecomputeActivationsOfAModelThatKeepsThem)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = Mode::Train;
    spec.loss = LossKind::CrossEntropy;
    spec.batch = 4;
    spec.context = 1024;
    const std::int64_t needed = predictMemory(spec, hopperWith(std::int64_t{1} << 40))->peakReserved->count;
    const auto found = flagsOf(suggestions(spec, hopperWith(needed / 2)));
    EXPECT_THAT(found, Contains("--set checkpointing=block"));
    spec.mode = Mode::Forward;
    spec.loss = LossKind::Sum;
    EXPECT_THAT(flagsOf(suggestions(spec, hopperWith(needed / 20))),
                Each(Not(::testing::HasSubstr("checkpointing"))))
        << "forward keeps no activations";
}

TEST(Suggestions, CombineChangesIfNoneSufficesAlone)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = Mode::Both;
    spec.batch = 4;
    spec.context = 2048;
    const auto peakOf = [&](auto change) {
        ExperimentSpec changed = spec;
        change(changed);
        return predictMemory(changed, hopperWith(std::int64_t{1} << 40))->peakReserved->count;
    };
    const std::int64_t block = peakOf([](auto& s) { s.checkpointing = {Checkpointing::Kind::Block}; });
    const auto found = flagsOf(suggestions(spec, hopperWith(block - (64 << 20))));
    EXPECT_THAT(found, Contains("--set backend=flash --set checkpointing=block --set precision=bf16"));
}

TEST(Suggestions, AreEmptyIfNothingHelps)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    EXPECT_THAT(suggestions(spec, hopperWith(1 << 20)), IsEmpty());
    spec.workload = Workload::Dtypes;
    EXPECT_THAT(suggestions(spec, hopperWith(1 << 20)), IsEmpty());
}

} // namespace
} // namespace tilescope::predict
