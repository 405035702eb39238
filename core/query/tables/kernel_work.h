#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/query/tables/work_tables.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::query {

/// What the kernels, copies and memsets of one group took, and the work that could be counted for them.
struct KernelWorkRow {
    std::string key = {};                                          ///< full name, or the group
    std::string shortName = {};                                    ///< of a kernel
    std::string does = {};                                         ///< in words
    analysis::KernelFamily family = analysis::KernelFamily::Other; ///< of most of its time
    std::int64_t instances = 0;
    std::int64_t total = 0; ///< nanoseconds
    std::int64_t shortest = 0;
    std::int64_t longest = 0;
    double mean = 0;
    std::optional<double> standardDeviation = {}; ///< of the sample; none for one instance
    std::optional<analysis::Work> work = {};
    std::int64_t counted = 0; ///< of the total, the time whose work that is
    std::optional<double> tensorActive =
        {}; ///< measured share of time in which tensor cores worked, per cent

    /// Rates are over the time that was counted.
    std::optional<double> flopsPerSecond() const;
    std::optional<double> bytesPerSecond() const;
};

/// Which kernels a table is about.
struct KernelWorkQuery {
    RunId run;
    Grouping grouping = Grouping::Name;    ///< Name, Family, Range, Module or Phase
    std::optional<std::int32_t> step = {}; ///< none: all traced steps
    std::string range = {};                ///< a path; only kernels within it; empty: all
};

struct KernelWorkTable {
    Grouping grouping = Grouping::Name;
    std::vector<KernelWorkRow> rows = {};                                       ///< costliest first
    std::vector<std::pair<analysis::KernelFamily, std::int64_t>> families = {}; ///< time, costliest first
    std::vector<std::string> ranges = {}; ///< all paths that kernels lie in, from step down
    DeviceCeilings ceilings = {};
    std::string whyNoWork = {};   ///< why rows lack work; empty where all have what can be counted
    std::string whyNoTensor = {}; ///< why rows lack measured use of the tensor cores
};

/// Kernels of the traced steps by group, with work from the shapes of the ops that launched them or, for
/// groups of places and families, from the spec; and with the hardware counter `tensor_active`.
///
/// Counters are kept by range. A kernel has those of the ranges it ran in where nothing else took more than a
/// twentieth of their time, or where none of them used tensor cores at all.
/// \param cancelled  asked now and then; true gives an empty table
/// \throws Error  no such run
/// O(n), and memory for the ops and kernels of the run where they have shapes.
KernelWorkTable kernelWork(const store::RunReader& reader, const KernelWorkQuery& query,
                           const std::function<bool()>& cancelled);

} // namespace tilescope::query
