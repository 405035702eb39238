// The predictor against the engine: what core/predict replays is what core/engine allocates, on the CPU.
#include "core/model/text.h"
#include "core/predict/predict_memory.h"
#include "tests/unit/engine/fixtures.h"

#include <gtest/gtest.h>

namespace tilescope::engine::test {
namespace {

struct Point {
    ExperimentSpec spec;
    double within = 0; ///< share of the measured peak
};

ExperimentSpec untraced(ExperimentSpec spec)
{
    spec.trace = TraceLevel::Off;
    spec.memory = false;
    spec.warmup = 1;
    spec.steps = 2;
    spec.threads = 1;
    return spec;
}

Point lm(Mode mode, Backend backend, Checkpointing checkpointing = {})
{
    ExperimentSpec spec = untraced(tinyLm());
    spec.mode = mode;
    spec.loss = mode == Mode::Train ? LossKind::CrossEntropy : LossKind::Sum;
    spec.backend = backend;
    spec.checkpointing = checkpointing;
    return {spec};
}

/// Matrix products in bf16 take scratch memory of a size that hangs on the processor.
Point lmInBf16(Mode mode)
{
    Point point = lm(mode, Backend::Naive);
    point.spec.dModel = 128;
    point.spec.dFf = 512;
    point.spec.vocab = 3000;
    point.spec.context = 64;
    point.spec.precision = Precision::Bf16;
    point.within = 0.05;
    return point;
}

Point attention(Mode mode, Backend backend)
{
    ExperimentSpec spec;
    spec.workload = Workload::Attention;
    spec.device = {DeviceRequest::Kind::Cpu};
    spec.mode = mode;
    spec.backend = backend;
    spec.batch = 2;
    spec.heads = spec.kvHeads = 3;
    spec.headDim = 32;
    spec.seqLen = spec.kvLen = 256;
    // Numbers that a CPU's operations wrap in tensors, and row sums of its flash kernel.
    return {untraced(spec), 0.001};
}

TEST(Prediction, IsWhatTheEngineAllocates)
{
    StringTable strings;
    Engine engine(strings);
    using Kind = Checkpointing::Kind;
    const std::vector<Point> points{lm(Mode::Forward, Backend::Naive),
                                    lm(Mode::Both, Backend::Naive),
                                    lm(Mode::Train, Backend::Naive),
                                    lm(Mode::Train, Backend::FlashTorch),
                                    lm(Mode::Train, Backend::SdpaMath),
                                    lm(Mode::Train, Backend::Naive, {Kind::Block, 1}),
                                    lm(Mode::Train, Backend::Naive, {Kind::Block, 2}),
                                    lm(Mode::Train, Backend::Naive, {Kind::Attention}),
                                    lmInBf16(Mode::Forward),
                                    lmInBf16(Mode::Train),
                                    attention(Mode::Both, Backend::Naive),
                                    attention(Mode::Both, Backend::FlashTorch),
                                    attention(Mode::Both, Backend::Sdpa),
                                    attention(Mode::Both, Backend::SdpaMath),
                                    attention(Mode::Forward, Backend::Naive)};
    for (const Point& point : points) {
        const ExperimentSpec& spec = point.spec;
        SCOPED_TRACE(std::string(wordOf(spec.workload)) + " " + std::string(wordOf(spec.mode)) + " " +
                     std::string(wordOf(spec.backend)) + " " + std::string(wordOf(spec.precision)) + " " +
                     toText(spec.checkpointing));
        Recorder recorder;
        const RunResult measured = engine.runPoint(spec, recorder, {});
        ASSERT_EQ(measured.status, RunStatus::Ok) << measured.reason;
        const auto predicted = predict::predictMemory(spec, {.threads = 1});
        ASSERT_TRUE(predicted);
        const auto bytes = static_cast<double>(measured.peakAllocated->count);
        EXPECT_NEAR(static_cast<double>(predicted->peakAllocated.count), bytes, point.within * bytes);
        EXPECT_EQ(predicted->beforeBackward.has_value(), measured.beforeBackward.has_value());
        if (measured.beforeBackward) {
            EXPECT_NEAR(static_cast<double>(predicted->beforeBackward->count),
                        static_cast<double>(measured.beforeBackward->count), point.within * bytes);
        }
    }
}

} // namespace
} // namespace tilescope::engine::test
