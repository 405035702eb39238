#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilescope {

/// Keys of a spec with their values as texts.
using KeyTexts = std::vector<std::pair<std::string, std::string>>;

/// What tells the points of a sweep, or the runs of a file, apart.
///
/// That is the workload, if there are several, and the keys whose values differ among the points of one
/// workload. Left out are those that have no effect at a point (tiles of another backend) and those that only
/// follow another one: kv_len that is always seq_len, the widths of the model where `size` decides them.
/// Memory does not grow with the points but with the values of `size` and `mode`. One thread.
class TellingKeys {
public:
    /// O(keys).
    void add(const KeyTexts& point);

    /// Of a point that was added the values that tell it from the others, in the order in which they stand.
    KeyTexts of(const KeyTexts& point) const;

    /// Every key that tells points of some workload apart.
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
        std::vector<Following> followers = {};
    };

    bool tells(const OfWorkload& points, std::string_view key) const;

    std::map<std::string, OfWorkload, std::less<>> workloads_;
};

/// `backend=flash seq_len=1024`.
std::string labelOf(const KeyTexts& values);

} // namespace tilescope
