#pragma once

#include "core/base/ids.h"
#include "core/exchange/import/foreign_rows.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Where and in what an activity was launched.
struct Launch {
    std::int64_t start = 0;
    RangeId range = {};
    OpId op = {};
    ThreadId thread = {};
    StringId path = {};
    std::int32_t step = kNoStep;
};

/// Finds the launch of an activity by its process and native correlation id, and the op by its external id.
///
/// Correlation ids are dense, so a vector by id finds them without hashing; sparse ones take a hash table. Keeps
/// only those that some activity has.
class LaunchIndex {
public:
    /// Notes which correlation and external ids the activities of a trace have.
    void expect(const ForeignTrace& trace);

    void note(ProcessIndex process, std::uint32_t correlation, const Launch& launch);
    void noteOp(ProcessIndex process, std::uint64_t externalId, const Launch& op);

    /// Whether an activity of the process has this correlation id.
    bool isWanted(ProcessIndex process, std::uint32_t correlation) const;
    /// Null if the launch was not recorded.
    const Launch* find(ProcessIndex process, std::uint32_t correlation) const;
    const Launch* findOp(ProcessIndex process, std::uint64_t externalId) const;

private:
    static constexpr std::uint32_t kUnwanted = 0;
    static constexpr std::uint32_t kWanted = 1; ///< greater values: index in launches_ + 2

    struct OfProcess {
        std::uint32_t least = 0;
        std::vector<std::uint32_t> dense; ///< by correlation - least
        std::unordered_map<std::uint32_t, std::uint32_t> sparse;
        std::unordered_map<std::uint64_t, std::uint32_t> ops; ///< by external id
    };

    std::vector<OfProcess> processes_;
    std::vector<Launch> launches_;
};

} // namespace tilescope::exchange
