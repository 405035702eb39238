#pragma once

#include "core/query/kernels/kernel_stats.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilescope::ui {

/// The times of the instances of ops, by name of the op.
using OpSpread = std::map<std::string, query::KernelStat, std::less<>>;

/// Which ops of a run are in question: those of one step, of all steps or of the whole recording; of one process
/// or of all.
struct OpChoice {
    bool coversRecording = false; ///< ops outside steps count too
    std::optional<std::int32_t> step;
    ProcessIndex process;

    std::vector<query::StretchOf> stretches(const std::shared_ptr<const query::Timeline>& timeline) const;
};

/// Which kernels of a run are in question: those of one step or of all; of one process or device or of all.
struct KernelChoice {
    std::optional<std::int32_t> step;
    ProcessIndex process;
    DeviceIndex device;

    /// The stretch in each lane. A step's kernels are those that start before the next step does.
    query::StretchOf stretch(const std::shared_ptr<const query::Timeline>& timeline) const;
};

/// Empty if cancelled. Any thread.
OpSpread spreadOf(const std::shared_ptr<const query::Timeline>& timeline, const OpChoice& choice,
                  const std::function<bool()>& cancelled);

} // namespace tilescope::ui
