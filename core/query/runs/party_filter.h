#pragma once

#include "core/model/party_index.h"

#include <cstdint>
#include <optional>

namespace tilescope::store {
class RunReader;
}

namespace tilescope::query {

/// Which processes and devices of a run a table is about.
struct PartyQuery {
    std::optional<std::int32_t> rank = {};
    std::optional<std::int64_t> pid = {};
    std::optional<std::int32_t> device = {}; ///< number in the run

    bool empty() const { return !rank && !pid && !device; }
    bool operator==(const PartyQuery&) const = default;
};

/// Selects events by their process and device.
class PartyFilter {
public:
    /// \throws Error (Usage)  the run has no such rank, process or device; names those that it has
    PartyFilter(const store::RunReader& reader, RunId run, const PartyQuery& query);

    bool has(const DeviceEvent& event) const;
    /// Host events of the process; none if only a device was asked for.
    bool has(ThreadId thread) const;
    const PartyIndex& parties() const { return parties_; }

private:
    PartyQuery query_;
    PartyIndex parties_;
    ProcessIndex process_;
};

} // namespace tilescope::query
