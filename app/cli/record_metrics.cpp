#include "app/cli/record_metrics.h"

#include "app/cli/arguments.h"
#include "core/base/error.h"
#include "core/base/number_text.h"
#include "core/machine/mapped_library.h"
#include "core/machine/metric_choice.h"
#include "core/model/metric.h"

#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

namespace tilescope::cli {

namespace {

using namespace std::chrono_literals;

// The work that a sample costs `tilescope record`.
constexpr const char* kDecodingFact = "metrics.decoding";
constexpr const char* kEvaluatingFact = "metrics.evaluating";
constexpr const char* kIntervalOption = "--metrics-interval";
constexpr Nanoseconds kShortest = 20us; // the hardware keeps up
constexpr Nanoseconds kLongest = 100ms; // each reading of its buffer brings a sample

/// 100us, 0.5 ms, 1 s; a bare number is milliseconds.
Nanoseconds intervalOf(std::string_view text)
{
    constexpr std::pair<std::string_view, double> kUnits[] = {{"ns", 1},   {"us", 1e3}, {"µs", 1e3},
                                                              {"ms", 1e6}, {"s", 1e9},  {"", 1e6}};
    for (const auto& [unit, factor] : kUnits) {
        if (!text.ends_with(unit))
            continue;
        std::string_view number = text.substr(0, text.size() - unit.size());
        while (number.ends_with(' '))
            number.remove_suffix(1);
        const auto value = parseNumber<double>(number);
        if (!value)
            continue;
        const double time = std::round(*value * factor);
        if (time >= static_cast<double>(kShortest.count()) &&
            time <= static_cast<double>(Nanoseconds(kLongest).count()))
            return Nanoseconds(static_cast<std::int64_t>(time));
        break;
    }
    throw Error{.what = "is not a time from 20us to 100ms: " + std::string(text),
                .where = kIntervalOption,
                .remedy = "write 100us, or 1ms"};
}

} // namespace

void MetricOptions::addTo(Arguments& arguments)
{
    arguments.attached(
        "--metrics", "LIST", isOn, list,
        "sample how busy the GPUs are inside: multiprocessors, tensor pipe, device memory, PCIe and "
        "NVLink; LIST: some of sm_active, tensor_active, instructions, dram_read, dram_write, pcie_in, "
        "pcie_out, "
        "nvlink_in, nvlink_out, gpc_clock, tensor_float, tensor_integer, warps, or metrics of CUPTI; "
        "default: all that the GPU measures at once");
    arguments.option(kIntervalOption, interval, "time between samples, from 20us to 100ms; default: 100us");
}

machine::MetricRequest MetricOptions::request() const
{
    if (!isOn && !interval.empty())
        throw Error{
            .what = "is only used with --metrics", .where = kIntervalOption, .remedy = "add --metrics"};
    machine::MetricRequest request{.metrics = machine::requestedMetrics(list)};
    if (!interval.empty())
        request.interval = intervalOf(interval);
    return request;
}

std::unique_ptr<machine::MetricSampler> sampleMetrics(machine::MetricRequest request, pid_t program,
                                                      record::MetricTurn* turns)
{
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("NVTX_INJECTION64_PATH");
    request.cupti = [program] { return machine::mappedLibrary(program, "libcupti.so"); };
    if (turns) {
        request.mayRun = [turns](Nanoseconds busy) { return turns->goesOn(busy); };
        request.hasStopped = [turns] { turns->giveTurn(); };
    }
    return std::make_unique<machine::MetricSampler>(std::move(request));
}

void addMetrics(exchange::HostCounters& counters, machine::SampledMetrics&& sampled, Nanoseconds interval,
                const record::MetricTurn* turns)
{
    std::move(sampled.tracks.begin(), sampled.tracks.end(), std::back_inserter(counters.tracks));
    if (counters.uuids.empty())
        counters.uuids = std::move(sampled.uuids);
    std::string said = sampled.summary;
    if (!sampled.whyNot.empty())
        said += (said.empty() ? "no metrics were sampled: " : "; ") + sampled.whyNot;
    counters.facts.push_back({.key = kMetricsRecorded, .value = said});
    if (const std::string sentence = turns ? turns->sentence() : std::string(); !sentence.empty())
        counters.facts.push_back({.key = kSamplingTurns, .value = sentence});
    if (sampled.samples == 0)
        return;
    counters.facts.push_back(
        {.key = kMetricInterval, .value = std::to_string(interval.count()), .unit = "ns"});
    for (const auto& [key, time] :
         {std::pair(kDecodingFact, sampled.decoding), std::pair(kEvaluatingFact, sampled.evaluating)})
        counters.facts.push_back({.key = key, .value = std::to_string(std::llround(time)), .unit = "ns"});
    if (sampled.dramPeak > 0)
        counters.facts.push_back(
            {.key = kMetricDramPeak, .value = std::to_string(std::llround(sampled.dramPeak)), .unit = "B/s"});
    counters.metricSamplesDropped = sampled.dropped;
    counters.metricSamplesLost = sampled.lost;
}

} // namespace tilescope::cli
