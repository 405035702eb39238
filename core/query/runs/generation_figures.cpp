#include "core/query/runs/generation_figures.h"

#include "core/config/schema.h"
#include "core/model/generation.h"
#include "core/query/runs/first_tokens.h"
#include "core/query/runs/milliseconds.h"
#include "core/query/runs/run_device.h"

#include <algorithm>

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

// Most runs are of other modes; reading a spec takes longer than a search.
bool mayGenerate(const store::RunRecord& run)
{
    return run.specJson.find("\"mode\":\"generate\"") != std::string::npos;
}

/// Adds the times to the first token that the samples of one run tell, in their order.
class FirstTokenSum {
public:
    void add(const Sample& sample)
    {
        if (sample.kind != SampleKind::Measure)
            return;
        if (sample.phase == Phase::Prefill)
            times_.push_back(milliseconds(sample.wall));
        else if (sample.phase == Phase::Sample && sample.step == 0 && !times_.empty())
            times_.back() += milliseconds(sample.wall);
    }
    const std::vector<double>& times() const { return times_; }

private:
    std::vector<double> times_;
};

} // namespace

void FirstTokens::addRepeats(std::optional<GenerationFigures>& figures, const store::RunRecord& run)
{
    if (!figures || run.result.status != RunStatus::Ok)
        return;
    if (!isRead_)
        read();
    isRead_ = true;
    figures->firstTokenMs = analysis::summarise(byPoint_[{run.specHash, run.result.device}]);
}

void FirstTokens::read()
{
    std::vector<RunId> ids;
    std::map<RunId, Point> points;
    reader_.eachRun([&](store::RunRecord&& run) {
        if (run.result.status == RunStatus::Ok && mayGenerate(run)) {
            ids.push_back(run.run);
            points.emplace(run.run, Point(run.specHash, run.result.device));
        }
        return true;
    });
    std::map<RunId, FirstTokenSum> sums;
    reader_.eachSample(ids, [&](RunId run, const Sample& sample) { sums[run].add(sample); });
    for (const auto& [run, sum] : sums) {
        std::vector<double>& times = byPoint_[points.at(run)];
        times.insert(times.end(), sum.times().begin(), sum.times().end());
    }
}

std::optional<GenerationFigures> generationFigures(const store::RunReader& reader,
                                                   const store::RunRecord& run,
                                                   std::span<const Sample> samples)
{
    if (!mayGenerate(run))
        return {};
    const std::optional<ExperimentSpec> spec = config::specOf(run.specJson);
    if (!spec || spec->mode != Mode::Generate)
        return {};

    FirstTokenSum own;
    std::vector<double> others;
    for (const Sample& sample : samples) {
        own.add(sample);
        if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
            others.push_back(milliseconds(sample.wall));
    }
    GenerationFigures figures{.firstTokenMs = analysis::summarise(own.times()),
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
