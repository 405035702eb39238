#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

/// The protocol between FileServer and requestFile(): a request is one message "KEY open NAME" or "KEY end NAME TEXT", the
/// answer an errno of 32 bits, with a descriptor if it is 0.
namespace tilescope::record::files {

inline constexpr std::string_view kOpen = "open ";
inline constexpr std::string_view kEnd = "end ";
inline constexpr std::size_t kLongestRequest = 2048;

/// \return  its size; 0: the name is too long
inline socklen_t abstractAddress(std::string_view name, sockaddr_un& address)
{
    address = {};
    address.sun_family = AF_UNIX;
    constexpr std::string_view kBefore = "tilescope-record-";
    if (1 + kBefore.size() + name.size() > sizeof(address.sun_path))
        return 0;
    std::ranges::copy(name, std::ranges::copy(kBefore, address.sun_path + 1).out);
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + kBefore.size() + name.size());
}

} // namespace tilescope::record::files
