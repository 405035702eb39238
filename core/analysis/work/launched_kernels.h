#pragma once

#include "core/model/events.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tilescope::analysis {

/// Finds the op of a kernel by its name, its launch configuration and the kernels before it on its stream. If the
/// configuration of any kernel is unknown, all configurations are ignored: ROCm records them only with launches.
class LaunchedKernels {
public:
    struct Launcher {
        std::size_t op = 0;
        bool doesWork = false; ///< the kernel does the op's work; other kernels prepare or finish it
        bool isAmbiguous = false;
        std::size_t kernels = 0;
    };

    /// \param device  in any order; kept by the caller
    explicit LaunchedKernels(std::span<const DeviceEvent> device);

    /// \param event  one of the device events
    void add(const DeviceEvent& event, std::size_t op, bool doesWork, std::span<const Op> ops);

    /// The op of the kernels that are alike, compared with the fewest preceding kernels that make the op
    /// unique. A sequence of kernels that occurs only once does not count, because it may be a coincidence.
    /// \param event  one of the device events
    const Launcher* find(const DeviceEvent& event) const;

private:
    /// The numbers of preceding kernels that are compared.
    static constexpr std::array<std::size_t, 6> kContexts{0, 1, 2, 4, 8, 16};
    using Contexts = std::array<std::uint64_t, kContexts.size()>;

    const Contexts& contextsOf(const DeviceEvent& event) const
    {
        return contexts_[static_cast<std::size_t>(&event - device_.data())];
    }

    const std::span<const DeviceEvent> device_;
    std::vector<Contexts> contexts_; ///< by position in device_
    std::unordered_map<std::uint64_t, Launcher> known_;
};

} // namespace tilescope::analysis
