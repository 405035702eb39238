// Who holds which memory, on real steps: the list of saved tensors against the allocator's events, and
// categories against the allocator's count.

#include "core/analysis/memory/memory_labels.h"
#include "core/model/text.h"
#include "core/trace/allocators/cpu_allocator.h"
#include "fixtures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

namespace tilescope::engine {
namespace {

using test::Recorder;

/// The memory facts that a point reported, with its events labelled.
struct Recorded {
    MemoryFacts facts;
    std::vector<AllocEvent> events;
    std::int64_t unmatched = 0;
    std::vector<SavedTensor> saved;
    std::vector<std::string> flags;
    StringTable strings;

    MemoryCategory categoryOf(const AllocEvent& event) const
    {
        return fromWord<MemoryCategory>(strings.text(event.category)).value();
    }
};

std::unique_ptr<Recorded> recordedBy(const ExperimentSpec& spec)
{
    auto recorded = std::make_unique<Recorded>();
    Engine engine(recorded->strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    EXPECT_EQ(result.status, RunStatus::Ok) << result.reason;
    recorded->flags = result.flags;
    EXPECT_EQ(recorder.memory.size(), 3u) << "after the reference step, before and after the trace";
    recorded->facts = recorder.memory.at(0);
    recorded->facts.blocks = recorder.memory.at(1).blocks;
    recorded->facts.readings = recorder.memory.at(1).readings;
    recorded->facts.readings.push_back(recorder.memory.at(2).readings.at(0));
    analysis::MemoryLabels labels(recorded->strings);
    labels.learn(recorded->facts);
    labels.begin(recorded->facts.blocks);
    for (TraceBatch& batch : recorder.batches) {
        labels.label(batch.allocEvents);
        recorded->events.insert(recorded->events.end(), batch.allocEvents.begin(), batch.allocEvents.end());
    }
    recorded->unmatched = labels.unmatched();
    recorded->saved = labels.savedTensors();
    return recorded;
}

using Totals = std::map<MemoryCategory, std::int64_t>;

std::int64_t bytesOf(const Totals& totals)
{
    std::int64_t sum = 0;
    for (const auto& [category, bytes] : totals)
        sum += bytes;
    return sum;
}

/// Bytes by category when the trace began.
Totals older(const Recorded& recorded)
{
    Totals totals;
    for (const MemoryBlock& block : recorded.facts.blocks)
        totals[block.category] += block.bytes;
    return totals;
}

/// Checks after every event that the categories add up to what the allocator counted, and returns the most
/// that each had.
Totals mostOfEach(const Recorded& recorded)
{
    Totals totals = older(recorded);
    Totals most = totals;
    std::size_t wrong = 0;
    for (const AllocEvent& event : recorded.events) {
        std::int64_t& bytes = totals[recorded.categoryOf(event)];
        bytes += event.action == AllocAction::Alloc ? event.bytes : -event.bytes;
        most[recorded.categoryOf(event)] = std::max(most[recorded.categoryOf(event)], bytes);
        wrong += bytesOf(totals) == event.allocated ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0u) << "of " << recorded.events.size();
    return most;
}

/// Bytes that were allocated for backward alone, by the list of what the graph held before backward.
std::int64_t activationsBySavedList(const Recorded& recorded)
{
    std::int64_t bytes = 0;
    for (const SavedTensor& tensor : recorded.saved)
        if (!tensor.sharedWith && tensor.category == MemoryCategory::Activations &&
            tensor.path.starts_with("step/backward") == false)
            bytes += tensor.storageBytes;
    return bytes;
}

/// Bytes of activations when backward of a traced step makes its first allocation.
std::int64_t activationsBeforeBackward(const Recorded& recorded, std::int32_t step)
{
    std::int64_t bytes = 0;
    for (const AllocEvent& event : recorded.events) {
        if (event.step == step && recorded.strings.text(event.path).starts_with("step/backward"))
            return bytes;
        if (recorded.categoryOf(event) == MemoryCategory::Activations)
            bytes += event.action == AllocAction::Alloc ? event.bytes : -event.bytes;
    }
    ADD_FAILURE() << "no backward in step " << step;
    return 0;
}

struct MemoryCase {
    const char* name;
    ExperimentSpec spec;
};

ExperimentSpec lmSpec(Mode mode, Precision precision = Precision::Fp32, Backend backend = Backend::Naive,
                      Checkpointing checkpointing = {})
{
    ExperimentSpec spec = test::tinyLm();
    spec.mode = mode;
    spec.loss = LossKind::CrossEntropy;
    spec.precision = precision;
    spec.backend = backend;
    spec.checkpointing = checkpointing;
    return spec;
}

ExperimentSpec attentionSpec(Backend backend)
{
    ExperimentSpec spec = test::smallAttention();
    spec.mode = Mode::Both;
    spec.backend = backend;
    return spec;
}

class MemoryOf : public ::testing::TestWithParam<MemoryCase> {};

} // namespace

TEST_P(MemoryOf, CategoriesAddUpAndTheSavedListAgreesToTheByte)
{
    const auto recorded = recordedBy(GetParam().spec);
    EXPECT_THAT(recorded->flags, ::testing::IsEmpty());
    EXPECT_EQ(recorded->unmatched, 0);
    EXPECT_EQ(bytesOf(older(*recorded)), recorded->facts.readings.at(0).requested)
        << "all that is there is known";
    EXPECT_EQ(recorded->events.back().allocated, recorded->facts.readings.at(1).requested);
    const Totals most = mostOfEach(*recorded);
    EXPECT_FALSE(most.contains(MemoryCategory::Unattributed));
    ASSERT_FALSE(recorded->saved.empty());
    EXPECT_GT(activationsBySavedList(*recorded), 0);
    for (std::int32_t step = 0; step < GetParam().spec.traceSteps; ++step)
        EXPECT_EQ(activationsBeforeBackward(*recorded, step), activationsBySavedList(*recorded))
            << "step " << step;
}

INSTANTIATE_TEST_SUITE_P(
    Points, MemoryOf,
    ::testing::Values(
        MemoryCase{"lm", lmSpec(Mode::Train)}, MemoryCase{"lmWithoutOptimizer", lmSpec(Mode::Both)},
        MemoryCase{"lmBf16", lmSpec(Mode::Train, Precision::Bf16)},
        MemoryCase{"lmSdpa", lmSpec(Mode::Train, Precision::Fp32, Backend::Sdpa)},
        MemoryCase{"lmFlash", lmSpec(Mode::Train, Precision::Fp32, Backend::Flash)},
        MemoryCase{"lmTiled", lmSpec(Mode::Train, Precision::Fp32, Backend::FlashTorch)},
        MemoryCase{"lmBlocks",
                   lmSpec(Mode::Train, Precision::Fp32, Backend::Naive, {Checkpointing::Kind::Block, 1})},
        MemoryCase{"lmCheckpointedAttention",
                   lmSpec(Mode::Train, Precision::Fp32, Backend::Naive, {Checkpointing::Kind::Attention, 1})},
        MemoryCase{"attentionNaive", attentionSpec(Backend::Naive)},
        MemoryCase{"attentionSdpa", attentionSpec(Backend::Sdpa)},
        MemoryCase{"attentionFlash", attentionSpec(Backend::Flash)},
        MemoryCase{"attentionTiled", attentionSpec(Backend::FlashTorch)}),
    [](const ::testing::TestParamInfo<MemoryCase>& point) { return point.param.name; });

TEST(Memory, ATrainedModelHasEachCategory)
{
    const auto recorded = recordedBy(lmSpec(Mode::Train));
    Totals most = mostOfEach(*recorded);
    const std::int64_t parameters = most[MemoryCategory::Parameters];
    EXPECT_EQ(parameters, most[MemoryCategory::Gradients]);
    // Two moments, and four scalars of AdamW.
    EXPECT_EQ(most[MemoryCategory::Optimizer], 2 * parameters + 16);
    EXPECT_GT(most[MemoryCategory::Activations], 0);
    EXPECT_GT(most[MemoryCategory::Inputs], 0);
    EXPECT_GT(most[MemoryCategory::Temporaries], 0);
}

TEST(Memory, TheSavedListNamesOpModuleAndTensor)
{
    const auto recorded = recordedBy(lmSpec(Mode::Train));
    const auto matches = [&](std::string_view path, std::string_view op, std::string_view tensor) {
        return std::ranges::any_of(recorded->saved, [&](const SavedTensor& saved) {
            return saved.path == path && saved.op == op && saved.tensor == tensor;
        });
    };
    EXPECT_TRUE(matches("step/forward/layers.1/ffn", "aten::addmm", "layers.1/ffn/down"));
    EXPECT_TRUE(matches("step/forward/layers.0/attention", "aten::softmax", "own output"));
    EXPECT_TRUE(matches("step/forward/layers.0/ffn", "tilescope::swiglu", "of aten::mm"));
    EXPECT_TRUE(matches("step/loss", "aten::nll_loss", "targets"));
    for (const SavedTensor& saved : recorded->saved) {
        EXPECT_FALSE(saved.path.empty()) << saved.op;
        if (saved.category == MemoryCategory::Activations && saved.from && saved.to) {
            EXPECT_LT(*saved.from, *saved.to) << saved.op;
        }
    }
}

TEST(Memory, WithoutAGradientNothingIsSaved)
{
    ExperimentSpec spec = lmSpec(Mode::Forward);
    const auto recorded = recordedBy(spec);
    EXPECT_TRUE(recorded->saved.empty());
    EXPECT_FALSE(mostOfEach(*recorded).contains(MemoryCategory::Activations));
    spec.grad = true;
    EXPECT_GT(activationsBySavedList(*recordedBy(spec)), 0);
}

TEST(Memory, RecomputedPartsReportWhatTheyHoldWhileBackwardRuns)
{
    const auto plain = recordedBy(lmSpec(Mode::Train));
    const auto less =
        recordedBy(lmSpec(Mode::Train, Precision::Fp32, Backend::Naive, {Checkpointing::Kind::Block, 1}));
    EXPECT_LT(activationsBySavedList(*less), activationsBySavedList(*plain) / 2);
    EXPECT_TRUE(std::ranges::any_of(less->saved, [](const SavedTensor& saved) {
        return saved.path == "step/backward/layers.1/attention" && saved.op == "aten::softmax";
    }));
}

TEST(Memory, IsNotLookedAtUnlessAskedFor)
{
    ExperimentSpec spec = lmSpec(Mode::Train);
    spec.memory = false;
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    ASSERT_EQ(engine.runPoint(spec, recorder, {}).status, RunStatus::Ok);
    EXPECT_TRUE(recorder.memory.empty());
    for (const TraceBatch& batch : recorder.batches)
        EXPECT_TRUE(batch.allocEvents.empty());
}

TEST(Memory, RunningOutReportsTheRequestAndTheUseOfTheRest)
{
    ExperimentSpec spec = attentionSpec(Backend::Naive);
    spec.seqLen = spec.kvLen = 512;
    spec.memoryLimit = Bytes{trace::CpuAllocator::current().count + (11 << 20)};
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    ASSERT_EQ(result.status, RunStatus::Oom) << result.reason;
    EXPECT_THAT(result.flags, ::testing::IsEmpty());
    std::vector<AllocEvent> events;
    std::map<OpId, std::string> ops;
    for (const TraceBatch& batch : recorder.batches) {
        events.insert(events.end(), batch.allocEvents.begin(), batch.allocEvents.end());
        for (const Op& op : batch.ops)
            ops[op.id] = strings.text(op.name);
    }
    ASSERT_FALSE(events.empty());
    const auto failure = std::ranges::find(events, AllocAction::Oom, &AllocEvent::action);
    ASSERT_NE(failure, events.end());
    EXPECT_EQ(Bytes{failure->bytes}, result.oom->requested);
    EXPECT_EQ(Bytes{failure->allocated}, result.oom->allocated);
    EXPECT_TRUE(strings.text(failure->path).starts_with("step/")) << strings.text(failure->path);
    EXPECT_TRUE(ops.contains(failure->op));
    EXPECT_EQ(failure->step, kNoStep) << "no traced step";
    // q, k, v and the mask were there before; the reference events are the same ones.
    ASSERT_EQ(recorder.memory.size(), 2u);
    EXPECT_GE(recorder.memory[0].blocks.size(), 4u);
    EXPECT_EQ(recorder.memory[1].reference.size(), events.size());
}

TEST(Memory, RunningOutInSetUpReportsTheRequestAndTheUseOfTheRest)
{
    ExperimentSpec spec = lmSpec(Mode::Train);
    spec.vocab = 4096;
    // Some parameters fit, not all.
    spec.memoryLimit = Bytes{trace::CpuAllocator::current().count + 4 * 4096 * spec.dModel + 4096};
    StringTable strings;
    Engine engine(strings);
    Recorder recorder;
    const RunResult result = engine.runPoint(spec, recorder, {});
    ASSERT_EQ(result.status, RunStatus::Oom) << result.reason;
    EXPECT_EQ(result.oom->phase, "setup");
    EXPECT_THAT(result.flags, ::testing::IsEmpty());
    std::vector<AllocEvent> events;
    std::set<OpId> ops;
    for (const TraceBatch& batch : recorder.batches) {
        events.insert(events.end(), batch.allocEvents.begin(), batch.allocEvents.end());
        for (const Op& op : batch.ops)
            ops.insert(op.id);
    }
    const auto failure = std::ranges::find(events, AllocAction::Oom, &AllocEvent::action);
    ASSERT_NE(failure, events.end());
    EXPECT_EQ(Bytes{failure->bytes}, result.oom->requested);
    EXPECT_EQ(Bytes{failure->allocated}, result.oom->allocated);
    const std::string asking(strings.text(failure->path));
    EXPECT_TRUE(asking.starts_with("setup/parameters/layers.0/")) << asking << " comes after the embedding";
    EXPECT_TRUE(ops.contains(failure->op));
    EXPECT_TRUE(std::ranges::any_of(events, [&](const AllocEvent& event) {
        return event.action == AllocAction::Alloc && event.bytes == 4 * 4096 * spec.dModel &&
               strings.text(event.path) == "setup/parameters/embedding";
    })) << "the embedding had found room";
    ASSERT_EQ(recorder.memory.size(), 1u);
    const auto& places = recorder.memory[0].places;
    const auto place = std::ranges::find(places, asking, &CodePlace::path);
    ASSERT_NE(place, places.end());
    EXPECT_EQ(place->file, "core/engine/lm/lm.cpp");
    EXPECT_EQ(engine.runPoint(lmSpec(Mode::Train), recorder, {}).status, RunStatus::Ok)
        << "the device is clean again";
}

} // namespace tilescope::engine
