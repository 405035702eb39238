#include "core/query/runs/generation_figures.h"

#include "core/config/schema.h"
#include "core/model/generation.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/run_device.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tilescope::query {

namespace {

constexpr std::size_t kFewestForP99 = 100;

/// Bytes per second of the last copy measured on the device of a run.
std::optional<double> copyBandwidth(const store::RunReader& reader, const store::RunRecord& run)
{
    const std::vector<Ceiling> all = reader.ceilings(); // in order of measurement
    if (all.empty())
        return {};
    const std::string device = deviceOfRun(reader, run).uuid;
    std::optional<double> bandwidth;
    for (const Ceiling& ceiling : all)
        if (ceiling.kind == "copy" && ceiling.device == device)
            bandwidth = ceiling.value;
    return bandwidth;
}

} // namespace

std::optional<GenerationFigures> generationFigures(const store::RunReader& reader,
                                                   const store::RunRecord& run,
                                                   std::span<const Sample> samples)
{
    // Most runs are of other modes; reading a spec takes longer than a search.
    constexpr std::string_view kMode = "\"mode\":\"generate\"";
    if (run.specJson.find(kMode) == std::string::npos)
        return {};
    const std::optional<ExperimentSpec> spec = config::specOf(run.specJson);
    if (!spec || spec->mode != Mode::Generate)
        return {};

    std::vector<double> first;
    std::vector<double> others;
    for (const Sample& sample : samples) {
        if (sample.kind != SampleKind::Measure)
            continue;
        if (sample.phase == Phase::Prefill)
            first.push_back(milliseconds(sample.wall));
        else if (sample.phase == Phase::Sample && sample.step == 0 && !first.empty())
            first.back() += milliseconds(sample.wall);
        else if (sample.phase == Phase::Step)
            others.push_back(milliseconds(sample.wall));
    }
    GenerationFigures figures{.firstTokenMs = analysis::summarise(first),
                              .perTokenMs = analysis::summarise(others),
                              .cache = cacheBytes(*spec)};
    if (!figures.perTokenMs)
        return figures;
    const double seconds = figures.perTokenMs->mean / 1e3;
    figures.tokensPerSecond = static_cast<double>(spec->batch) / seconds;
    figures.bytesPerToken = meanDecodedBytes(*spec);
    if (const auto bandwidth = copyBandwidth(reader, run))
        figures.bandwidthPercent = 100 * *figures.bytesPerToken / seconds / *bandwidth;
    if (others.size() >= kFewestForP99) {
        std::ranges::sort(others);
        figures.perTokenP99Ms = analysis::quantile(others, 0.99);
    }
    return figures;
}

} // namespace tilescope::query
