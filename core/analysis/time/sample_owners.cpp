#include "core/analysis/time/sample_owners.h"

#include "core/analysis/stats/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilescope::analysis {

namespace {

/// The time of a sample that work of one group fills.
struct Filling {
    std::uint32_t group = 0;
    std::int64_t time = 0;
    Timestamp until{}; ///< counted so far
};

std::uint32_t ownerOf(const Interval& sample, std::span<const OwnedWork* const> work,
                      std::vector<Filling>& fillings)
{
    fillings.clear();
    for (const OwnedWork* const each : work) {
        auto filling = std::ranges::find(fillings, each->group, &Filling::group);
        if (filling == fillings.end())
            filling = fillings.insert(fillings.end(), {.group = each->group, .until = sample.start});
        const Timestamp from = std::max(each->time.start, filling->until);
        const Timestamp to = std::min(each->time.end, sample.end);
        if (from >= to)
            continue;
        filling->time += (to - from).count();
        filling->until = to;
    }
    const auto most = std::ranges::max_element(fillings, {}, &Filling::time);
    const auto whole = static_cast<double>(sample.length().count());
    if (most == fillings.end() || static_cast<double>(most->time) < kOwnedShare * whole)
        return kNoOwner;
    std::int64_t others = 0;
    for (const Filling& filling : fillings)
        others += filling.group == most->group ? 0 : filling.time;
    return static_cast<double>(others) <= (1 - kOwnedShare) * whole ? most->group : kNoOwner;
}

} // namespace

std::vector<std::uint32_t> sampleOwners(std::span<const Interval> samples, std::span<const OwnedWork> work)
{
    std::vector<std::uint32_t> owners(samples.size(), kNoOwner);
    std::vector<const OwnedWork*> running; // by start
    std::vector<Filling> fillings;
    std::size_t next = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        std::erase_if(running, [&](const OwnedWork* each) { return each->time.end <= samples[i].start; });
        for (; next < work.size() && work[next].time.start < samples[i].end; ++next)
            if (work[next].time.end > samples[i].start)
                running.push_back(&work[next]);
        if (!running.empty() && samples[i].end > samples[i].start)
            owners[i] = ownerOf(samples[i], running, fillings);
    }
    return owners;
}

SampleMean meanOfSamples(std::span<const double> values)
{
    constexpr double kDeviations = 1.96;
    const Statistics statistics = *summarise(values);
    SampleMean made{.mean = statistics.mean};
    if (statistics.n < kFewestSamples || !statistics.standardDeviation)
        return made;
    const double reach =
        kDeviations * *statistics.standardDeviation / std::sqrt(std::max(1.0, statistics.effective));
    made.ci95 = ConfidenceInterval{statistics.mean - reach, statistics.mean + reach};
    return made;
}

} // namespace tilescope::analysis
