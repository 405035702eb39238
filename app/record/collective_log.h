#pragma once

#include "core/base/mutex.h"
#include "core/model/strings.h"
#include "core/record/working_file.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::record {

/// A collective or point-to-point operation that the program starts; see CollectiveRow.
struct StartedCollective {
    std::string_view op;
    std::string_view group = {};
    std::string_view ranks = {};
    std::string_view dtype = {};
    std::int64_t sequence = -1;
    std::int64_t bytes = -1;
    std::int32_t groupSize = 0;
    std::int32_t peer = -1;
    bool isOfNccl = false;
};

/// The collectives that the program has started, until they are written. Any thread.
class CollectiveLog {
public:
    /// \param strings  receives the texts
    explicit CollectiveLog(StringTable& strings) : strings_(strings) {}

    /// The calling thread starts an operation now.
    /// \return  its number, for end()
    std::uint64_t start(const StartedCollective& collective);
    /// The operation ends now, in any thread.
    void end(std::uint64_t number);
    /// The operations that have ended since the last call.
    std::vector<CollectiveRow> take();

private:
    StringTable& strings_;
    Mutex mutex_;
    std::uint64_t last_ GUARDED_BY(mutex_) = 0;
    std::unordered_map<std::uint64_t, CollectiveRow> open_ GUARDED_BY(mutex_);
    std::vector<CollectiveRow> ended_ GUARDED_BY(mutex_);
};

} // namespace tilescope::record
