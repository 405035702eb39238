// tilescope_bench::run_point(workload, ["key=value", …]) -> JSON: runs one point in this process.
#include "core/base/error.h"
#include "core/config/spec_file.h"
#include "core/engine/run/engine.h"
#include "core/model/text.h"

#include <nlohmann/json.hpp>
#include <torch/library.h>

namespace tilescope::bench {
namespace {

using nlohmann::json;

class SampleList final : public PointObserver {
public:
    void stateChanged(PointState) override {}
    void consume(TraceBatch&&) override {}
    void memoryRead(const HeldMemory&) override {}
    void countersRead(std::vector<CounterValue>) override {}
    void kernelsSampled(tilescope::KernelSamples&&) override {}
    void factsFound(std::vector<EnvironmentEntry>) override {}
    void memoryLearnt(MemoryFacts&&) override {}
    void sampleTaken(const Sample& sample) override
    {
        samples.push_back({{"kind", wordOf(sample.kind)},
                           {"phase", wordOf(sample.phase)},
                           {"step", sample.step},
                           {"wall_ns", sample.wall.count()},
                           {"gpu_ns", sample.gpu ? json(sample.gpu->count()) : json()}});
    }

    json samples = json::array();
};

config::Overrides overridesOf(const std::vector<std::string>& texts)
{
    config::Overrides overrides;
    for (const std::string& text : texts) {
        const auto equals = text.find('=');
        TORCH_CHECK(equals != std::string::npos, "expected key=value, got '", text, "'");
        overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
    return overrides;
}

json bytesOrNull(const std::optional<Bytes>& bytes)
{
    return bytes ? json(bytes->count) : json();
}

std::string runPoint(const std::string& workload, const std::vector<std::string>& keys)
{
    static StringTable strings;
    static engine::Engine engine(strings);
    try {
        const auto kind = fromWord<Workload>(workload);
        TORCH_CHECK(kind, "unknown workload '", workload, "'");
        const auto specs = config::specFromOverrides(*kind, overridesOf(keys));
        TORCH_CHECK(specs.size() == 1, "one point at a time");
        SampleList observer;
        const RunResult result = engine.runPoint(specs.front(), observer, {});
        const json answer{{"status", wordOf(result.status)},
                          {"reason", result.reason},
                          {"parameters", result.parameters ? json(*result.parameters) : json()},
                          {"loss", result.finalLoss() ? json(*result.finalLoss()) : json()},
                          {"before_backward", bytesOrNull(result.beforeBackward)},
                          {"peak_allocated", bytesOrNull(result.peakAllocated)},
                          {"samples", observer.samples}};
        return answer.dump();
    } catch (const Error& error) {
        TORCH_CHECK(false, error.sentence());
    }
}

} // namespace

TORCH_LIBRARY(tilescope_bench, library)
{
    library.def("run_point(str workload, str[] keys) -> str", &runPoint);
}

} // namespace tilescope::bench
