// How often a comparison is right: pairs of runs that are alike must mostly say so, a slowdown must be found.
//
//   bench_compare               1,000 synthetic pairs
//   bench_compare FILE.tscope   besides, the pairs of runs (1, 2), (3, 4) … of FILE, which must all be of one
//   spec
//
// The last line is one JSON object. The synthetic steps are of the kinds that real ones are made of: noise of
// 0.3 to 3 % that remembers up to 0.6 of the step before, 10 to 200 steps, a busy host that now and then adds
// up to half a step, and a deviation between runs of 0.2 %.

#include "core/analysis/comparison.h"
#include "core/analysis/random.h"
#include "core/analysis/run_to_run.h"
#include "core/base/error.h"
#include "core/store/run_reader.h"

#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tilescope;
using namespace tilescope::analysis;

constexpr int kSyntheticPairs = 1000;
constexpr std::size_t kRealPairs = 100;
constexpr double kSlowdown = 1.03;

using Series = std::vector<double>;

Series syntheticRun(Random& random, int steps, double deviation, double memory)
{
    Series times;
    const double run = 1 + 0.002 * random.normal();
    double x = random.normal();
    for (int i = 0; i < steps; ++i) {
        x = memory * x + std::sqrt(1 - memory * memory) * random.normal();
        const double spike = random.uniform() < 0.03 ? 1 + 0.5 * random.uniform() : 1;
        times.push_back(10 * run * std::exp(deviation * x) * spike);
    }
    return times;
}

Series slowed(Series series)
{
    for (double& time : series)
        time *= kSlowdown;
    return series;
}

bool foundSlower(const Series& a, const Series& b, const ComparisonOptions& options = {})
{
    const auto difference = compareSeries(a, b, options);
    return difference && difference->difference95.low > 0;
}

bool saysNone(const Series& a, const Series& b, const ComparisonOptions& options = {})
{
    const auto difference = compareSeries(a, b, options);
    return difference && !difference->seen();
}

struct Counts {
    int pairs = 0;
    int none = 0;
    int found = 0;
};

Counts synthetic(int pairs, std::uint64_t seed)
{
    Random random(seed);
    Counts counts;
    for (; counts.pairs < pairs; ++counts.pairs) {
        const int steps = 10 + static_cast<int>(random.below(191));
        const double deviation = 0.003 * std::pow(10, random.uniform());
        const double memory = 0.6 * random.uniform();
        const Series a = syntheticRun(random, steps, deviation, memory);
        const Series b = syntheticRun(random, steps, deviation, memory);
        counts.none += saysNone(a, b);
        counts.found += foundSlower(a, slowed(b));
    }
    return counts;
}

struct Real {
    Counts counts;       ///< with what the other runs of the file teach, as `tilescope compare` has it
    Counts alone;        ///< each pair as if the file held nothing else
    double runToRun = 0; ///< standard deviation of the runs' medians, as a fraction
};

Real real(const std::string& file)
{
    const store::RunReader reader(file);
    std::vector<Series> runs;
    std::vector<double> logMedians;
    for (const store::RunRecord& run : reader.runs()) {
        Series series;
        for (const Sample& sample : reader.samples(run.run))
            if (sample.kind == SampleKind::Measure && sample.phase == Phase::Step)
                series.push_back(static_cast<double>(sample.wall.count()));
        if (series.size() < 2)
            continue;
        logMedians.push_back(std::log(median(series)));
        runs.push_back(std::move(series));
    }
    Real result;
    for (std::size_t i = 0; i + 1 < runs.size() && i / 2 < kRealPairs; i += 2) {
        // The pair's own difference is the question: only the others teach.
        std::vector<double> others;
        for (std::size_t j = 0; j < runs.size(); ++j)
            if (j != i && j != i + 1)
                others.push_back(median(runs[j]));
        ComparisonOptions learned;
        learned.runToRun = learnRunToRun(std::vector<std::vector<double>>{others});
        for (const auto& [counts, options] :
             {std::pair(&result.counts, learned), std::pair(&result.alone, ComparisonOptions{})}) {
            ++counts->pairs;
            counts->none += saysNone(runs[i], runs[i + 1], options);
            counts->found += foundSlower(runs[i], slowed(runs[i + 1]), options);
        }
    }
    if (const auto statistics = summarise(logMedians))
        result.runToRun = statistics->standardDeviation.value_or(0);
    return result;
}

int run(int argc, char** argv)
{
    const Counts made = synthetic(kSyntheticPairs, 20'250'101);
    std::printf("synthetic: %d of %d alike pairs show no difference; a slowdown of 3 %% is found in %d\n",
                made.none, made.pairs, made.found);
    std::optional<Real> measured;
    if (argc > 1) {
        measured = real(argv[1]);
        std::printf("measured: %d of %d alike pairs show no difference; a slowdown of 3 %% is found in %d; "
                    "medians of runs "
                    "deviate by %.3f %%\n",
                    measured->counts.none, measured->counts.pairs, measured->counts.found,
                    100 * measured->runToRun);
        std::printf(
            "of each pair by itself, without the other runs: %d show no difference, %d find the slowdown\n",
            measured->alone.none, measured->alone.found);
    }
    std::printf("{\"aa_synthetic_none_of_1000\": %d, ", made.none);
    if (measured)
        std::printf(
            "\"aa_real_pairs\": %d, \"aa_real_none_of_100\": %d, \"injected_found_of_100\": %d, "
            "\"aa_real_none_alone_of_100\": %d, \"injected_found_alone_of_100\": %d, \"run_to_run\": %.5f}\n",
            measured->counts.pairs, measured->counts.none, measured->counts.found, measured->alone.none,
            measured->alone.found, measured->runToRun);
    else
        std::printf("\"aa_real_none_of_100\": null, \"injected_found_of_100\": %d}\n", made.found / 10);
    return made.none >= 930 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc, argv);
    } catch (const Error& error) {
        std::fprintf(stderr, "bench_compare: %s\n", error.sentence().c_str());
        return error.exitCode();
    }
}
