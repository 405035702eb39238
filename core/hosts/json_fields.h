#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace tilescope::hosts {

// Fields of messages from another machine, which may be missing or of another type.

/// A text, cut to `most` bytes; empty if there is none.
inline std::string textIn(const nlohmann::json& object, const char* key, std::size_t most = std::string::npos)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>().substr(0, most)
                                                       : std::string();
}

/// A whole number; 0 if there is none.
inline std::int64_t numberIn(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// Whether a field is `true`.
inline bool flagIn(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace tilescope::hosts
