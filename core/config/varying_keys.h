#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::config {

/// Keys of a spec with their values as texts.
using KeyTexts = std::vector<std::pair<std::string, std::string>>;

/// Finds the keys whose values differ between the points of a sweep or the runs of a file.
///
/// These are the workload, if there are several, and the keys whose values differ among the points of one
/// workload. Keys that have no effect at a point (tiles of another backend) are left out, and so are keys that
/// follow another key: kv_len if it always equals seq_len, the model's widths if `size` determines them.
/// Memory grows with the number of values of `size` and `mode`, not with the number of points. One thread.
class VaryingKeys {
public:
    /// O(keys).
    void add(const KeyTexts& point);

    /// The values of a point's varying keys, in the order of the point.
    /// \pre  the point was added
    KeyTexts of(const KeyTexts& point) const;

    /// Every key that varies within some workload.
    std::set<std::string> keys() const;

private:
    struct Key {
        std::string first; ///< its value at the first point that has it
        bool varies = false;
    };
    struct Following {
        bool holds = true;
        std::map<std::string, std::string> valueByLeader = {};
    };
    struct OfWorkload {
        std::map<std::string, Key, std::less<>> keys = {};
        std::map<std::string, Following, std::less<>> followers = {}; ///< by key
    };

    bool varies(const OfWorkload& points, std::string_view key) const;

    std::map<std::string, OfWorkload, std::less<>> workloads_;
};

/// `backend=flash seq_len=1024`.
std::string labelOf(const KeyTexts& values);

} // namespace tilescope::config
