#include "core/analysis/work/spec_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tilescope::analysis {

namespace {

/// Two layers of width 8 (2 heads), feed-forward 12, 100 words, 3 sequences of 4 tokens.
ExperimentSpec smallModel(Mode mode)
{
    ExperimentSpec spec;
    spec.workload = Workload::Lm;
    spec.mode = mode;
    spec.batch = 3;
    spec.context = 4;
    spec.dModel = 8;
    spec.dFf = 12;
    spec.heads = 2;
    spec.layers = 2;
    spec.vocab = 100;
    return spec;
}

constexpr std::int64_t kTokens = 12;
constexpr std::int64_t kWeights = 2 * (4 * 8 * 8 + 3 * 8 * 12) + 8 * 100;
constexpr std::int64_t kMaps = 2 * kTokens * kWeights;
constexpr std::int64_t kAllPairs = 3 * 2 * 16;  // batch, heads, queries x keys
constexpr std::int64_t kSeenPairs = 3 * 2 * 10; // pairs that the causal mask keeps
constexpr std::int64_t kLayers = 2;
constexpr std::int64_t kHeadDim = 4;

const SpecWork& item(const std::vector<SpecWork>& items, std::string_view path, std::string_view what)
{
    const auto found = std::find_if(items.begin(), items.end(),
                                    [&](const SpecWork& w) { return w.path == path && w.what == what; });
    EXPECT_NE(found, items.end()) << path << ' ' << what;
    return *found;
}

} // namespace

TEST(SpecWork, KnowsEachMatmulOfALanguageModel)
{
    const auto items = specWork(smallModel(Mode::Both));
    EXPECT_EQ(item(items, "step/forward/layers.1/attention", "qkv").work,
              (Work{{2 * 12 * 8 * 24}, {4 * (12 * 8 + 8 * 24 + 12 * 24)}}));
    EXPECT_EQ(item(items, "step/forward/layers.0/ffn", "gate_up").work.flops.count, 2 * 12 * 8 * 24);
    EXPECT_EQ(item(items, "step/forward/layers.0/ffn", "down").work.flops.count, 2 * 12 * 12 * 8);
    EXPECT_EQ(item(items, "step/forward/lm_head", "lm_head").work.flops.count, 2 * 12 * 8 * 100);
    EXPECT_EQ(item(items, "step/backward/lm_head", "lm_head").work,
              (Work{{2 * 2 * 12 * 8 * 100}, {2 * 4 * (12 * 8 + 8 * 100 + 12 * 100)}}));
    // Naive attention computes hidden pairs too; the model does not need them.
    const SpecWork& scores = item(items, "step/forward/layers.0/attention", "scores");
    EXPECT_EQ(scores.work, (Work{{2 * kAllPairs * 4}, {4 * (6 * (2 * 4 * 4 + 16))}}));
    EXPECT_EQ(scores.model.count, 2 * kSeenPairs * 4);
    EXPECT_EQ(item(items, "step/backward/layers.0/attention", "output").work.flops.count,
              2 * 2 * kAllPairs * 4);
}

TEST(SpecWork, AddsUpToTheFormulaOfMfu)
{
    const std::int64_t seen = kLayers * 4 * kSeenPairs * kHeadDim;
    const std::int64_t all = kLayers * 4 * kAllPairs * kHeadDim;
    const auto forward = stepFlops(smallModel(Mode::Forward));
    ASSERT_TRUE(forward);
    EXPECT_EQ(forward->model.count, kMaps + seen);
    EXPECT_EQ(forward->hardware.count, kMaps + all);
    EXPECT_EQ(stepFlops(smallModel(Mode::Train))->model.count, 3 * (kMaps + seen));
    EXPECT_EQ(stepFlops(smallModel(Mode::Train))->hardware.count, 3 * (kMaps + all));
    EXPECT_EQ(stepFlops(smallModel(Mode::Backward))->model.count, 2 * (kMaps + seen));
}

TEST(SpecWork, FusedAttentionComputesTheScoresOnceMoreInBackward)
{
    ExperimentSpec spec = smallModel(Mode::Both);
    spec.backend = Backend::Flash;
    const auto flops = stepFlops(spec);
    const std::int64_t product = kLayers * 2 * kSeenPairs * kHeadDim;
    EXPECT_EQ(flops->model.count, 3 * kMaps + 6 * product);
    EXPECT_EQ(flops->hardware.count, 3 * kMaps + 7 * product);
    EXPECT_EQ(item(specWork(spec), "step/forward/layers.0/attention", "attention").family,
              KernelFamily::Attention);
}

TEST(SpecWork, RecomputationCountsForTheHardwareOnly)
{
    ExperimentSpec spec = smallModel(Mode::Both);
    const auto plain = *stepFlops(spec);
    spec.checkpointing.kind = Checkpointing::Kind::Block;
    const auto blocks = *stepFlops(spec);
    const std::int64_t head = 2 * kTokens * 8 * 100;
    const std::int64_t all = kLayers * 4 * kAllPairs * kHeadDim;
    EXPECT_EQ(blocks.model, plain.model);
    EXPECT_EQ(blocks.hardware.count, plain.hardware.count + kMaps - head + all);
    spec.layers = 4;
    spec.checkpointing = {};
    const auto four = *stepFlops(spec);
    spec.checkpointing.kind = Checkpointing::Kind::Block;
    const std::int64_t once = stepFlops(spec)->hardware.count - four.hardware.count;
    spec.checkpointing.kept = 3;
    EXPECT_EQ(stepFlops(spec)->hardware.count, four.hardware.count + once / 4);
    spec.checkpointing = {.kind = Checkpointing::Kind::Nested, .every = 2};
    // Blocks 0 and 2 are recomputed twice, 1 and 3 once.
    EXPECT_EQ(stepFlops(spec)->hardware.count, four.hardware.count + once * 3 / 2);
    spec.layers = kLayers;
    spec.checkpointing = {.kind = Checkpointing::Kind::Attention};
    EXPECT_EQ(stepFlops(spec)->hardware.count, plain.hardware.count + all);
    EXPECT_EQ(stepFlops(spec)->model, plain.model);
}

TEST(SpecWork, OfFusedBlocksIsRecomputedWithoutAttentionAndWhatBackwardDoesNotNeed)
{
    ExperimentSpec spec = smallModel(Mode::Both);
    spec.compile.kind = CompileRequest::Kind::Fused;
    spec.layers = 4;
    const auto plain = *stepFlops(spec);
    spec.checkpointing = {.kind = Checkpointing::Kind::Block, .every = 2};
    std::vector<std::string> again;
    for (const SpecWork& item : specWork(spec))
        if (item.recomputed)
            again.push_back(item.path + " " + item.what);
    EXPECT_THAT(again,
                ::testing::ElementsAre(
                    "step/backward/layers.3/attention projection",
                    "step/backward/layers.2/attention projection", "step/backward/layers.1/attention qkv",
                    "step/backward/layers.1/attention projection", "step/backward/layers.1/ffn gate_up",
                    "step/backward/layers.0/attention qkv", "step/backward/layers.0/attention projection",
                    "step/backward/layers.0/ffn gate_up", "step/backward/layers.0/ffn down"));
    EXPECT_EQ(stepFlops(spec)->model, plain.model);
    // Of a block 24 (qkv), 8 (projection), 24 (gate and up) and 12 (down) columns and rows of width 8.
    const std::int64_t unit = 2 * kTokens * 8;
    const auto extra = [&](Checkpointing checkpointing) {
        spec.checkpointing = checkpointing;
        return (stepFlops(spec)->hardware.count - plain.hardware.count) / unit;
    };
    EXPECT_EQ(extra({Checkpointing::Kind::Block, 4}), 4 * 8);
    EXPECT_EQ(extra({Checkpointing::Kind::Block, 1}), 3 * 56 + 8);
    EXPECT_EQ(extra({Checkpointing::Kind::Block, 1, 1}), 3 * 56 + 8);
    EXPECT_EQ(extra({Checkpointing::Kind::Block, 1, 3}), 56 + 3 * 8);
    EXPECT_EQ(extra({Checkpointing::Kind::Block, 2, 2}), 68 + 56 + 2 * 8);
}

TEST(SpecWork, KnowsAttentionAlone)
{
    ExperimentSpec spec;
    spec.workload = Workload::Attention;
    spec.backend = Backend::SdpaFlash;
    spec.precision = Precision::Bf16;
    spec.mode = Mode::Both;
    spec.batch = 2;
    spec.heads = 4;
    spec.kvHeads = 2;
    spec.seqLen = 16;
    spec.kvLen = 16;
    spec.headDim = 8;
    spec.causal = false;
    const auto items = specWork(spec);
    ASSERT_EQ(items.size(), 2u);
    const std::int64_t q = 2 * 4 * 16 * 8 * 2;
    const std::int64_t kv = q; // half the heads, two tensors
    const std::int64_t pairs = 2 * 4 * 16 * 16;
    EXPECT_EQ(items[0].path, "step/forward/attention");
    EXPECT_EQ(items[0].work, (Work{{4 * pairs * 8}, {2 * q + kv + 2 * 4 * 16 * 4}}));
    EXPECT_EQ(items[1].work, (Work{{10 * pairs * 8}, {4 * q + 2 * kv + 2 * 4 * 16 * 4}}));
    EXPECT_EQ(stepFlops(spec)->model.count, 12 * pairs * 8);
}

TEST(SpecWork, OtherWorkloadsHaveNone)
{
    ExperimentSpec spec;
    spec.workload = Workload::Dtypes;
    EXPECT_TRUE(specWork(spec).empty());
    EXPECT_FALSE(stepFlops(spec));
    EXPECT_EQ(stepFlopsFormula(spec), "");
    EXPECT_NE(stepFlopsFormula(smallModel(Mode::Train)).find("3 F"), std::string::npos);
}

} // namespace tilescope::analysis
