#include "core/query/runs/varying_keys.h"

#include "core/query/runs/json_members.h"

#include <nlohmann/json.hpp>

#include <utility>

namespace tilescope::query {

namespace {

using Json = nlohmann::json;

/// `1.0` and `1` are one value.
bool isSame(std::string_view a, std::string_view b)
{
    return a == b || Json::parse(a, nullptr, false) == Json::parse(b, nullptr, false);
}

} // namespace

std::size_t VaryingKeys::add(std::string_view spec)
{
    std::size_t compared = 0;
    JsonMembers members(spec);
    while (const auto member = members.next()) {
        const auto& [name, value] = *member;
        const auto [place, isNew] = places_.try_emplace(std::string(name), keys_.size());
        if (isNew) {
            const Json text = Json::parse(name, nullptr, false);
            keys_.push_back(
                {text.is_string() ? text.get<std::string>() : std::string(name), std::string(value)});
            continue;
        }
        Key& key = keys_[place->second];
        if (key.varies)
            continue;
        ++compared;
        key.varies = !isSame(key.first, value);
    }
    return compared;
}

std::vector<std::string> VaryingKeys::keys() const
{
    std::vector<std::string> names;
    for (const Key& key : keys_)
        if (key.varies && key.name != "name")
            names.push_back(key.name);
    return names;
}

} // namespace tilescope::query
