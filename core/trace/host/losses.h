#pragma once

#include "core/model/losses.h"
#include "core/model/strings.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

/// Counts of records that were lost or changed, by kind. One thread at a time.
class Losses {
public:
    /// \param addition  to the kind's sentence; kept from the first time the kind is seen
    void add(RecordLoss kind, std::int64_t count = 1, std::string_view addition = {});
    void add(const Losses& others);
    std::int64_t count(RecordLoss kind) const;
    std::vector<Loss> list(StringTable& strings) const;

private:
    struct Entry {
        std::int64_t count;
        std::string addition;
    };
    std::map<RecordLoss, Entry> entries_;
};

} // namespace tilescope::trace
