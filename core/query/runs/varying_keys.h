#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Finds the keys whose values differ between specs: what tells the runs of a sweep apart.
///
/// Specs come one by one and are not kept: each key remembers the first value that it had, so memory does not
/// grow with the number of specs, and time does so linearly.
class VaryingKeys {
public:
    /// \param spec  a JSON object; anything else has no keys
    /// \return      how many values it compared: at most one for each key of the spec
    std::size_t add(std::string_view spec);

    /// In the order in which they first came; never `name`. A key that a spec lacks does not vary by that.
    std::vector<std::string> keys() const;

private:
    struct Key {
        std::string name;
        std::string first; ///< the first value, as it was written
        bool varies = false;
    };

    std::vector<Key> keys_;
    std::unordered_map<std::string, std::size_t> places_; ///< in keys_, by the name as it is written
};

} // namespace tilescope::query
