#pragma once

#include "core/exchange/import/importer.h"
#include "core/machine/metric_sampler.h"
#include "core/record/sampling_turns.h"

#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace tilescope::cli {

class Arguments;

/// `--metrics` and `--metrics-interval`: counters inside the GPUs, sampled while the program runs, by this process.
struct MetricOptions {
    bool isOn = false;
    std::string list; ///< keys and names of CUPTI; empty: what fits
    std::string interval;

    void addTo(Arguments& arguments);
    /// What to sample.
    /// \throws Error (Usage)  an argument cannot be used
    machine::MetricRequest request() const;
};

/// Begins to sample while a program runs: with the CUPTI that it loads, so that both are of one version. The driver must
/// not load the recorder here: takes the variables for that out of this process's environment, which has no other thread
/// that reads it. One sampler at a time.
/// \param turns  with the sampling of instructions, used on the sampler's thread until it is stopped; null: none are sampled
std::unique_ptr<machine::MetricSampler> sampleMetrics(machine::MetricRequest request, pid_t program,
                                                      record::MetricTurn* turns);

/// Adds what was sampled to a recording, and how it went.
void addMetrics(exchange::HostCounters& counters, machine::SampledMetrics&& sampled, Nanoseconds interval,
                const record::MetricTurn* turns);

} // namespace tilescope::cli
