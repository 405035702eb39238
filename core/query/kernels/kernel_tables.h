#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/query/runs/process_filter.h"
#include "core/query/runs/time_span.h"
#include "core/query/work/work_tables.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// The kernels, copies and memsets, or the ops, of one group in the traced steps.
struct KernelRow {
    std::string key = {};                                          ///< full name, or the group
    std::string shortName = {};                                    ///< of a kernel
    std::string does = {};                                         ///< of a kernel: its purpose in words
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< of most of its time
    std::int64_t kernels = 1;                                      ///< distinct names in the group
    std::int64_t instances = 0;
    std::int64_t steps = 0; ///< in which the group occurs; only if requested by the query
    Nanoseconds total{0};   ///< sum of durations; streams that overlap count each; of ops the self time
    std::optional<Nanoseconds> withCalls = {}; ///< of ops: with the ops that they call
    Nanoseconds shortest{0};
    Nanoseconds longest{0};
    bool hasRange = true;                         ///< shortest and longest are known
    std::optional<double> standardDeviation = {}; ///< of the sample, ns; none for one instance
    double percent = 0;                           ///< of the total of the selection

    // Only if the query requests work.
    std::optional<analysis::Work> work = {};
    Nanoseconds counted{0};                               ///< the part of the total with known work
    std::optional<analysis::RooflinePoint> measured = {}; ///< under the ceilings of the table
    std::optional<analysis::RooflinePoint> sheet = {};
    std::optional<double> tensorActive =
        {};                                ///< measured share of the time with active tensor cores, per cent
    std::optional<double> tensorRate = {}; ///< by metrics, as in MetricsRow, also below
    std::optional<double> dramBytes = {};

    Nanoseconds average() const { return total / instances; }
    double mean() const { return static_cast<double>(total.count()) / static_cast<double>(instances); }
    double instancesPerStep() const;
};

/// Which kernels a table is about.
struct KernelQuery {
    std::optional<RunId> run = {};         ///< none: the file's last
    std::string rangeGlob = {};            ///< only events within a matching range; empty: all
    Grouping grouping = Grouping::Name;    ///< Name, Family, Range, Module, Phase or, without work, Op
    std::optional<std::int32_t> step = {}; ///< none: all traced steps
    std::string range = {};                ///< a path; only kernels within it; empty: all
    ProcessQuery topology = {};            ///< only these processes and devices; empty: all
    std::optional<TimeSpan> span = {};     ///< as in KernelSelection; work is not counted then
    bool countSteps = false;
    bool work = false;   ///< work, rates, hardware counters and ceilings
    bool metrics = true; ///< with work: by samples (MetricsTable) what no hardware counter says
};

struct KernelsTable {
    store::RunRecord run = {};
    Grouping grouping = Grouping::Name;
    std::optional<TimeSpan> span = {};
    std::vector<KernelRow> rows = {}; ///< costliest first
    std::int64_t events = 0;          ///< device events of the run, selected or not
    std::int64_t outsideSteps = 0;
    Nanoseconds total{0};
    std::vector<std::pair<analysis::KernelFamily, std::int64_t>> families = {}; ///< ns, costliest first
    std::vector<std::string> ranges = {}; ///< all paths of kernels, from step down

    // Only if the query requests work.
    DeviceCeilings ceilings = {};
    std::string whyNoWork = {};   ///< why rows lack work; empty where all have what can be counted
    std::string whyNoTensor = {}; ///< why rows lack measured use of the tensor cores
};

/// Kernels of the traced steps by group: their times and, if requested, their work and measured use of the
/// tensor cores.
///
/// Work comes from the shapes of the ops that launched the kernels or, for groups of places and families,
/// from the spec. The hardware counter `tensor_active` is recorded per range. A kernel has the value of its
/// ranges if other kernels took at most a twentieth of their time, or if none of them used tensor cores. Where it was not
/// counted, kernels by name and families have the mean of the samples of metrics().
/// \param cancelled  checked regularly; true returns an empty table
/// \throws Error  no such run; the pattern is invalid
/// O(kernel names x paths) from the stored totals, O(events) if sumKernels() reads events. Work takes memory
/// for the ops and kernels of the run.
KernelsTable kernels(
    const store::RunReader& reader, const KernelQuery& query,
    const std::function<bool()>& cancelled = [] { return false; });

} // namespace tilescope::query
