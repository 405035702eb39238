#include "tests/ui/cpu_fixture.h"

#include "core/store/run_writer.h"
#include "tests/ui/fixture.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace tilescope::test {

namespace {

constexpr int kSamples = 12;

struct CpuRun {
    std::string backend;
    std::string trace;
    RunStatus status = RunStatus::Ok;
    std::string reason = {};
    int samples = kSamples; ///< of kSamples steps
    bool ends = true;       ///< otherwise its writer dies
};

std::string specOf(const CpuRun& run)
{
    return R"({"workload":"lm","device":"cpu","seed":0,"mode":"train","precision":"fp32","backend":")" +
           run.backend + R"(","batch":4,"warmup":1,"steps":12,"trace_steps":2,"memory":true,"trace":")" +
           run.trace + R"(","size":"small","heads":12,"context":128})";
}

void writeRun(store::RunWriter& writer, const CpuRun& run, StringTable& strings)
{
    writer.beginRun({"lm-cpu", "lm", specOf(run), "hash-" + run.backend + run.trace, "Tilescope test"});
    const std::int64_t base = run.backend == "naive" ? 34'000'000 : 30'000'000;
    std::vector<Sample> samples;
    for (int i = 0; i < run.samples; ++i)
        for (const auto& [phase, share] :
             {std::pair(Phase::Step, 1.0), {Phase::Forward, 0.3}, {Phase::Backward, 0.6}})
            samples.push_back({i,
                               SampleKind::Measure,
                               phase,
                               Nanoseconds(std::int64_t(share * double(base + (i * 37 % 11) * 90'000))),
                               {}});
    writer.writeSamples(samples);
    RunResult result;
    result.device = "cpu";
    result.status = run.status;
    result.reason = run.reason;
    if (run.trace != "off" && run.status == RunStatus::Ok) {
        LmFixture fixture;
        fixture.backend = run.backend;
        TraceBatch batch = lmTrace(fixture, strings);
        batch.deviceEvents.clear();
        batch.apiCalls.clear();
        for (AllocEvent& event : batch.allocEvents) {
            event.device = {};
            event.reserved = event.allocated;
            result.peakAllocated = std::max(result.peakAllocated.value_or(Bytes{0}), Bytes{event.allocated});
        }
        writer.write(batch);
    }
    if (run.ends)
        writer.endRun(result);
    else
        writer.commit();
}

void writeRuns(const std::filesystem::path& file, std::span<const CpuRun> runs)
{
    StringTable strings;
    store::RunWriter writer(file, strings);
    for (const CpuRun& run : runs)
        writeRun(writer, run, strings);
}

} // namespace

void writeCpuFile(const std::filesystem::path& file)
{
    writeRuns(file, std::array<CpuRun, 5>{
                        {{"naive", "kernels"},
                         {"flash", "kernels"},
                         {"naive", "off"},
                         {"flash", "off"},
                         {"naive", "kernels", RunStatus::Error, "the engine ended with SIGKILL"}}});
}

void writeFailedFile(const std::filesystem::path& file)
{
    writeRuns(
        file,
        std::array<CpuRun, 6>{
            {{"naive", "kernels"},
             {"flash", "kernels", RunStatus::Error, "timed out after 600 s; its steps so far are kept"},
             {"sdpa", "kernels", RunStatus::Error,
              "the engine ended with SIGSEGV; the last lines of its standard error: Segmentation fault", 0},
             {"naive", "off", RunStatus::Cancelled, "stopped on request", 5},
             {"flash", "off", RunStatus::Skipped, "a CPU cannot run backend flash", 0},
             {"sdpa", "off", RunStatus::Running, {}, 7, false}}});
}

} // namespace tilescope::test
