#pragma once

#include "core/base/error.h"

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

/// Words for another machine travel in JSON, whose texts are UTF-8.
/// \throws Error (Usage)  a word is not
inline void requireUtf8(const std::string& word)
{
    if (nlohmann::json(word).dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) !=
        nlohmann::json(word).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
        throw Error{.what = "is not UTF-8, so it is not sent to a host",
                    .where = word.substr(0, 200),
                    .remedy = "use another name there"};
}

/// Whether a field is `true`.
inline bool flagIn(const nlohmann::json& object, const char* key)
{
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace tilescope::hosts
