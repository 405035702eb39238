#pragma once

#include "core/base/ids.h"
#include "core/base/mutex.h"

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tilescope {

/// Names seen by this process, each stored once; ids are dense from 0 and never change.
///
/// Any thread may call any member. Views stay valid as long as the table. A file has separate ids; the
/// store's writer maps these to those.
class StringTable {
public:
    /// The id of `text`, the same for the same text. Amortised O(length).
    StringId intern(std::string_view text);
    /// The text of an id this table gave; empty for `none`.
    std::string_view text(StringId id) const;
    /// Ids below this one exist.
    std::size_t size() const;

private:
    mutable Mutex mutex_;
    // A deque, so that views into its strings survive growth.
    std::deque<std::string> strings_ GUARDED_BY(mutex_);
    std::unordered_map<std::string_view, StringId> ids_ GUARDED_BY(mutex_);
};

} // namespace tilescope
