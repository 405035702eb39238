#include "core/hosts/wire.h"

#include "core/base/error.h"

#include <algorithm>
#include <array>
#include <cstring>
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

std::uint64_t pieceCheck(std::string_view bytes)
{
    constexpr std::uint64_t kBegin = 0xcbf29ce484222325;
    constexpr std::uint64_t kPrime = 0x100000001b3;
    constexpr std::size_t kLanes = 4;
    const auto mixed = [](std::uint64_t sum, std::uint64_t word) { return (sum ^ word) * kPrime; };
    std::array<std::uint64_t, kLanes> sums{kBegin, kBegin + 1, kBegin + 2, kBegin + 3};
    const std::uint64_t size = bytes.size();
    while (bytes.size() >= sizeof(sums)) {
        std::array<std::uint64_t, kLanes> words;
        std::memcpy(words.data(), bytes.data(), sizeof(words));
        for (std::size_t i = 0; i < kLanes; ++i)
            sums[i] = mixed(sums[i], words[i]);
        bytes.remove_prefix(sizeof(words));
    }
    std::uint64_t all = mixed(kBegin, size);
    for (const std::uint64_t sum : sums)
        all = mixed(all, sum ^ sum >> 32);
    for (const char byte : bytes)
        all = mixed(all, static_cast<unsigned char>(byte));
    return all;
}

void FrameReader::arrived(std::size_t bytes, const std::function<void(Frame)>& take)
{
    filled_ += bytes;
    if (filled_ < body_.size())
        return;
    filled_ = 0;
    take({type_, std::exchange(body_, {})});
}

void FrameReader::feed(std::string_view bytes, const std::function<void(Frame)>& take)
{
    constexpr std::size_t kLarge = std::size_t{64} << 10;
    if (!body_.empty()) {
        const std::size_t count = std::min(bytes.size(), expected().size());
        std::ranges::copy(bytes.substr(0, count), expected().begin());
        bytes.remove_prefix(count);
        arrived(count, take);
        if (bytes.empty())
            return;
    }
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
        const std::string_view rest = std::string_view(held_).substr(at + kHeadBytes);
        if (rest.size() < length) {
            if (length < kLarge)
                break;
            body_.resize(length);
            type_ = static_cast<FrameType>(type);
            filled_ = rest.size();
            std::ranges::copy(rest, body_.begin());
            held_.clear();
            return;
        }
        take({static_cast<FrameType>(type), std::string(rest.substr(0, length))});
        at += kHeadBytes + length;
    }
    held_.erase(0, at);
}

} // namespace tilescope::hosts
