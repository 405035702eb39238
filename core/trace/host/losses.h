#pragma once

#include "core/model/events.h"
#include "core/model/strings.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::trace {

/// Counts of what did not reach the trace as it was, by kind. One thread at a time.
class Losses {
public:
    /// \param detail  kept from the first time the kind is seen
    void add(std::string_view kind, LossSeverity severity, std::int64_t count = 1,
             std::string_view detail = {});
    void add(const Losses& others);
    std::int64_t count(std::string_view kind) const;
    std::vector<Loss> list(StringTable& strings) const;

private:
    struct Entry {
        LossSeverity severity;
        std::int64_t count;
        std::string detail;
    };
    std::map<std::string, Entry, std::less<>> entries_;
};

} // namespace tilescope::trace
