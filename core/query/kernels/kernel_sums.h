#pragma once

#include "core/query/runs/process_filter.h"
#include "core/query/runs/time_span.h"
#include "core/query/steps/step_set.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace tilescope::store {
struct ActivityTotal;
}

namespace tilescope::query {

/// The kernels, copies or memsets of one name that were attributed to one path.
struct KernelSum : store::KernelTotal {
    StringId op = {};   ///< name of the op that launched them; only if the sums are by op
    StepSet steps = {}; ///< in which they ran; empty if they come from the stored totals
};

/// Sums device events by kind, name, path and op. One hash look-up an event.
class KernelSums {
public:
    void add(const DeviceEvent& event, StringId op = {});
    void add(const store::ActivityTotal& total, StringId op);
    /// In the order of their first events.
    std::vector<KernelSum> list() &&;

private:
    KernelSum& sumOf(DeviceEventKind kind, StringId name, StringId path, StringId op);

    struct Key {
        std::uint64_t name = 0; ///< and kind
        std::uint64_t path = 0; ///< and op
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& key) const noexcept
        {
            return (key.name * 0x9E37'79B9'7F4A'7C15ULL) ^ (key.path * 0xC2B2'AE3D'27D4'EB4FULL >> 7);
        }
    };
    std::unordered_map<Key, std::uint32_t, Hash> places_;
    std::vector<KernelSum> sums_;
};

/// Which device events are summed: those of one traced step or of all, by op too or not; or those in a time span,
/// in steps or not, where an event that is only partly in it counts with that part.
struct KernelSelection {
    RunId run = {};
    std::optional<std::int32_t> step = {};
    bool byOp = false;
    bool countSteps = false;    ///< the sums include the steps in which they ran
    ProcessQuery topology = {}; ///< only these processes and devices; empty: all
    std::optional<TimeSpan> span = {};
};

struct SummedKernels {
    std::vector<KernelSum> sums = {};
    std::int64_t events = 0; ///< device events of the run, summed or not
    std::int64_t outsideSteps = 0;
    std::set<StringId> otherPaths = {}; ///< of traced steps that are not selected
};

/// Uses the totals that the file stores for the run. Reads the events only if there are none, or if they are
/// insufficient: for one step, or in some cases the steps of each kernel.
/// \return  nothing if cancelled
std::optional<SummedKernels> sumKernels(const store::RunReader& reader, const KernelSelection& selection,
                                        const std::function<bool()>& cancelled);

} // namespace tilescope::query
