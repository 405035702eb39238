#include "core/hosts/wire.h"

#include "core/base/error.h"

#include <utility>

namespace tilescope::hosts {

namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHeadBytes = kLengthBytes + 1;
constexpr std::string_view kTypes = "JPSOE";

std::string numberBytes(std::uint64_t number, std::size_t count)
{
    std::string bytes(count, '\0');
    for (std::size_t i = 0; i < count; ++i)
        bytes[count - 1 - i] = static_cast<char>(number >> (8 * i));
    return bytes;
}

std::uint64_t numberOf(std::string_view bytes)
{
    std::uint64_t number = 0;
    for (const char byte : bytes)
        number = number << 8 | static_cast<unsigned char>(byte);
    return number;
}

[[noreturn]] void refuse(const char* what)
{
    throw Error{.what = what,
                .where = {},
                .remedy = "check that its login scripts print nothing, then try again",
                .kind = ErrorKind::Environment};
}

} // namespace

std::string bigEndian(std::uint64_t number)
{
    return numberBytes(number, 8);
}

std::uint64_t fromBigEndian(std::string_view bytes)
{
    return numberOf(bytes.substr(0, 8));
}

std::string frameHead(FrameType type, std::size_t bodyBytes)
{
    return numberBytes(bodyBytes, kLengthBytes) + static_cast<char>(type);
}

std::string framed(FrameType type, std::string_view body)
{
    std::string bytes = frameHead(type, body.size());
    bytes.reserve(kHeadBytes + body.size());
    bytes += body;
    return bytes;
}

void FrameReader::feed(std::string_view bytes, const std::function<void(Frame)>& take)
{
    held_ += bytes;
    if (!isGreeted_) {
        const std::size_t at = held_.find(kGreeting);
        if (at == std::string::npos) {
            if (held_.size() > kMostBefore)
                refuse("it sends something else than Tilescope's answers");
            return;
        }
        isGreeted_ = true;
        held_.erase(0, at + kGreeting.size());
    }
    std::size_t at = 0;
    while (held_.size() - at >= kHeadBytes) {
        const std::size_t length = numberOf(std::string_view(held_).substr(at, kLengthBytes));
        const char type = held_[at + kLengthBytes];
        if (length > kMostBody || kTypes.find(type) == std::string_view::npos)
            refuse("what it sends is damaged");
        if (held_.size() - at - kHeadBytes < length)
            break;
        take({static_cast<FrameType>(type), held_.substr(at + kHeadBytes, length)});
        at += kHeadBytes + length;
    }
    held_.erase(0, at);
}

} // namespace tilescope::hosts
