// Writes a file of many short runs, like that of a long sweep: bench_runs FILE RUNS [STEPS]

#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/store/run_writer.h"

#include <cstdio>
#include <cstdlib>
#include <random>

using namespace tilescope;

namespace {

constexpr std::int64_t kBackends = 4;

ExperimentSpec specOf(std::int64_t run, std::int64_t steps)
{
    ExperimentSpec spec;
    spec.name = "sweep";
    spec.workload = Workload::Attention;
    spec.backend = static_cast<Backend>(run % kBackends);
    spec.seed = run / kBackends;
    spec.seqLen = spec.kvLen = 256 << (run % 5);
    spec.steps = static_cast<int>(steps);
    spec.warmup = 1;
    spec.trace = TraceLevel::Off;
    return spec;
}

std::vector<Sample> samplesOf(std::int64_t steps, std::mt19937_64& random)
{
    std::normal_distribution<double> noise(0, 0.02);
    std::vector<Sample> samples;
    const auto step = [&](SampleKind kind, int index) {
        const auto wall = Nanoseconds(static_cast<std::int64_t>(1e6 * (1 + noise(random))));
        samples.push_back({.step = index, .kind = kind, .phase = Phase::Step, .wall = wall});
        samples.push_back({.step = index, .kind = kind, .phase = Phase::Forward, .wall = wall * 9 / 10});
    };
    step(SampleKind::Warmup, 0);
    for (int i = 0; i < steps; ++i)
        step(SampleKind::Measure, i);
    return samples;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: bench_runs FILE RUNS [STEPS]\n");
        return 2;
    }
    const std::int64_t runs = std::atoll(argv[2]);
    const std::int64_t steps = argc > 3 ? std::atoll(argv[3]) : 3;
    std::mt19937_64 random(1);
    const StringTable noStrings;
    store::RunWriter writer(argv[1], noStrings);
    for (std::int64_t run = 0; run < runs; ++run) {
        const ExperimentSpec spec = specOf(run, steps);
        store::RunHeader header;
        header.name = spec.name;
        header.workload = "attention";
        header.specJson = config::toJson(spec);
        header.specHash = config::specHash(spec);
        header.program = programBanner();
        header.point = run;
        writer.beginRun(header);
        const EnvironmentEntry host{"host", "node"};
        const EnvironmentEntry torch{"libtorch", "2.11.0"};
        writer.writeEnvironment(std::vector{host, torch});
        writer.writeSamples(samplesOf(steps, random));
        RunResult result;
        result.device = "cpu";
        result.peakAllocated = Bytes{1 << 20};
        if (run % 100 == 99) {
            result.status = RunStatus::Skipped;
            result.reason = "the backend has no kernel for this";
        }
        writer.endRun(result);
    }
    return 0;
}
