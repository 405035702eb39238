#pragma once

#include "core/analysis/kernels/kernel_families.h"
#include "core/store/run_reader.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace tilescope::query {

/// Families of kernels by the op that launched them, by the kernel's name.
using LaunchFamilies = std::unordered_map<std::string, analysis::KernelFamily>;

/// The kernels of a run, each name described once.
///
/// A kernel has the family that its name says. Where the name says nothing, it has that of the ops which launched
/// the kernels of this name, if at least 90 % of the time that they launched is of one family. So a name has one
/// family within a run, and sums by name and by family agree.
///
/// One thread. The ops are read when the first name says nothing: from the stored totals of calls, otherwise
/// from the events.
class RunKernels {
public:
    /// \param reader  must outlive this object
    RunKernels(const store::RunReader& reader, RunId run) : reader_(reader), run_(run) {}

    const analysis::KernelDescription& describe(StringId name, DeviceEventKind kind);
    analysis::KernelFamily familyOf(StringId name, DeviceEventKind kind)
    {
        return describe(name, kind).family;
    }
    analysis::KernelFamily familyOf(const DeviceEvent& event) { return familyOf(event.name, event.kind); }

    /// By the text of a name.
    analysis::KernelDescription describe(std::string_view name, DeviceEventKind kind);

    /// The families by launch, as far as they were needed: empty if every name said its family. Call it last.
    LaunchFamilies takeByLaunch() { return std::move(byLaunch_); }

private:
    void readLaunches();

    const store::RunReader& reader_;
    RunId run_;
    std::unordered_map<std::uint64_t, analysis::KernelDescription> known_; ///< by name and kind
    LaunchFamilies byLaunch_;
    bool isRead_ = false;
};

} // namespace tilescope::query
