#pragma once

#include "app/cli/show.h"

#include "core/base/error.h"
#include "core/model/counter_track.h"
#include "core/model/memory.h"
#include "core/store/run_writer.h"
#include "tests/support/fake_trace.h"
#include "tests/support/json_schema.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

namespace tilescope::cli {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::FakeTrace;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGemm = "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_TNT";
constexpr const char* kSoftmax = "void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, "
                                 "false, false>(float*, float const*, int, "
                                 "int, int, bool const*, int, bool)";

/// Two traced steps of a GPU run, 100 ns each, with a matmul and a softmax.
inline FakeTrace gpuTrace()
{
    FakeTrace trace;
    trace.alreadyAllocated(1000);
    for (int step = 0; step < 2; ++step) {
        const std::int64_t t = 1000 + 100 * step;
        trace.step(step, t, t + 100).range("step/forward", t, t + 60);
        trace.range("step/forward/attention", t, t + 50).range("step/backward", t + 60, t + 100);
        trace.op("aten::mm", t + 1, t + 9).at("step/forward/attention");
        trace.kernel(kGemm, t + 10, t + 40).at("step/forward/attention").launchedAt(t + 5).by(trace.lastOp());
        trace.kernel(kSoftmax, t + 40, t + 50).at("step/forward/attention").launchedAt(t + 6);
        trace.kernel(kGemm, t + 70, t + 90).at("step/backward/attention").launchedAt(t + 65);
        trace.alloc(16 * (step + 1), 512, t + 2).category("activations").at("step/forward/attention");
        trace.free(16 * (step + 1), 512, t + 80);
    }
    trace.betweenSteps().memset(64, 1300, 1310).checked(42);
    return trace;
}

inline RunResult okResult(std::string device)
{
    RunResult result;
    result.device = std::move(device);
    result.parameters = 128'625'408;
    result.beforeBackward = Bytes{2048};
    result.peakAllocated = Bytes{4096};
    result.peakReserved = Bytes{8192};
    result.traceOverhead = 1.25;
    result.losses = {9.5, std::nullopt, 9.21};
    result.flags = {"throttled"};
    result.duration = Nanoseconds(1'500'000'000);
    return result;
}

inline std::vector<Sample> samplesOf(bool gpu)
{
    std::vector<Sample> samples;
    const auto add = [&](SampleKind kind, int step, Phase phase, std::int64_t ms) {
        samples.push_back({step, kind, phase, Nanoseconds(ms * 1'000'000),
                           gpu ? std::optional(Nanoseconds(ms * 900'000)) : std::nullopt});
    };
    add(SampleKind::Warmup, 0, Phase::Step, 50);
    for (int step = 0; step < 3; ++step) {
        add(SampleKind::Measure, step, Phase::Step, 10 + 2 * step);
        add(SampleKind::Measure, step, Phase::Forward, 4);
    }
    return samples;
}

/// Allocations from before the trace, and tensors that forward keeps.
inline MemoryFacts memoryOf(const FakeTrace& trace)
{
    MemoryFacts facts;
    const Timestamp before = trace.batch().allocEvents.front().time - Nanoseconds(1);
    facts.blocks.push_back({.time = before,
                            .device = DeviceIndex{0},
                            .address = 9000,
                            .bytes = 900,
                            .size = 1024,
                            .category = MemoryCategory::Parameters,
                            .name = "layers.0/ffn/down",
                            .shape = "[15, 15]",
                            .dtype = "f32"});
    const SavedTensor product{.path = "step/forward/layers.0/ffn",
                              .op = "aten::mm",
                              .tensor = "of aten::mul",
                              .shape = "[16, 8]",
                              .dtype = "f32",
                              .bytes = 512,
                              .address = 1,
                              .storageBytes = 512,
                              .time = before,
                              .from = before + Nanoseconds(1)};
    SavedTensor again = product;
    again.sharedWith = 0;
    again.path = "step/forward/norm";
    SavedTensor parameter = product;
    parameter.tensor = "layers.0/ffn/down";
    parameter.shape = "[15, 15]";
    parameter.bytes = parameter.storageBytes = 900;
    parameter.address = 9000;
    parameter.category = MemoryCategory::Parameters;
    parameter.from = {};
    facts.saved = {product, again, parameter};
    facts.places = {
        {"step/forward/attention", "core/engine/lm/lm.cpp", 199, "tilescope::engine::LanguageModel::attend"}};
    return facts;
}

/// Readings during the traced steps of gpuTrace(): a GPU that its power limits for a quarter of the time.
inline std::vector<CounterTrack> countersOf()
{
    const auto point = [](std::int64_t time, std::int64_t value) {
        return CounterPoint{timestampAt(time), value};
    };
    return {{.name = "Power",
             .unit = "W",
             .device = DeviceIndex{0},
             .failed = 1,
             .end = timestampAt(1200),
             .points = {point(1000, 300'000), point(1050, 700'000), point(1100, 400'000)}},
            {.name = kPowerCapCounter,
             .unit = "%",
             .device = DeviceIndex{0},
             .end = timestampAt(1200),
             .points = {point(1000, 0), point(1050, 100'000), point(1100, 0)}},
            {.name = "Resident memory",
             .unit = "B",
             .end = timestampAt(1200),
             .points = {point(1000, 1'073'741'824'000)}}};
}

class Show : public ::testing::Test {
protected:
    /// Run 1: two traced steps on a GPU. Run 2: ops on a CPU, and a loss. Run 3: out of memory.
    Show()
    {
        FakeTrace gpu = gpuTrace();
        store::RunWriter writer(file(), gpu.strings());
        writer.beginRun(
            {"lm \x1b[31mred", "lm", R"({"workload":"lm","size":"small"})", "h1", "Tilescope test"});
        writer.writeEnvironment(
            std::vector<EnvironmentEntry>{{"cpu", "some CPU", ""}, {"memory", "64", "GiB"}});
        writer.writeSamples(samplesOf(true));
        writer.write(gpu.batch());
        writer.writeMemory(memoryOf(gpu));
        writer.writeCounterTracks(countersOf());
        writer.endRun(okResult("cuda:0"));

        FakeTrace cpu(gpu.strings());
        cpu.step(0, 5000, 5100).range("step/forward", 5000, 5080);
        cpu.op("aten::matmul", 5010, 5050).at("step/forward");
        cpu.op("aten::mm", 5015, 5045, cpu.lastOp()).at("step/forward");
        cpu.loss("ring_overflow", LossSeverity::Warning, 7).checked(5);
        writer.beginRun({"tiny", "lm", R"({"workload":"lm","size":"tiny"})", "h2", "Tilescope test"});
        writer.writeSamples(samplesOf(false));
        writer.write(cpu.batch());
        writer.endRun(okResult("cpu"));

        writer.beginRun(
            {"big", "attention", R"({"workload":"attention","seq_len":65536})", "h3", "Tilescope test"});
        RunResult oom;
        oom.status = RunStatus::Oom;
        oom.reason = "out of memory in forward";
        oom.device = "cuda:0";
        oom.oom = OomInfo{Bytes{1 << 30}, Bytes{1 << 20}, {}, "forward"};
        writer.endRun(oom);
    }

    std::string file() const { return (folder_ / "a.tscope").string(); }

    std::string run(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), file());
        std::ostringstream out;
        EXPECT_EQ(show(arguments, out), 0);
        return out.str();
    }

    /// The section as JSON, checked against its schema.
    json valid(std::vector<std::string> arguments, const std::string& schema) const
    {
        arguments.insert(arguments.end(), {"--format", "json"});
        const std::string text = run(std::move(arguments));
        EXPECT_THAT(testing::schemaOffences(text, std::string(TILESCOPE_SOURCE_DIR) +
                                                      "/resources/schema/show-" + schema + ".schema.json"),
                    IsEmpty())
            << text;
        return json::parse(text);
    }

    std::string errorOf(std::vector<std::string> arguments) const
    {
        std::ostringstream out;
        try {
            show(arguments, out);
        } catch (const Error& error) {
            EXPECT_EQ(error.exitCode(), 2);
            EXPECT_EQ(out.str(), "");
            return error.sentence();
        }
        return "no error; printed " + out.str();
    }

private:
    testing::TemporaryFolder folder_;
};

} // namespace tilescope::cli
