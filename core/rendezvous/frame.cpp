#include "core/rendezvous/frame.h"

#include "core/base/error.h"
#include "core/base/sha256.h"

#include <sys/random.h>

#include <bit>
#include <cstring>

namespace tilescope::rendezvous {

namespace {

// Hosts of a job have one byte order.
static_assert(std::endian::native == std::endian::little);

struct Wire {
    std::uint32_t kind = 0;
    std::int32_t rank = 0;
    std::uint32_t turn = 0;
    std::uint32_t first = 0;
    std::uint32_t bytes = 0;
    std::uint32_t reserved = 0;
    std::int64_t number = 0;
};
static_assert(sizeof(Wire) == kHeaderBytes);

} // namespace

HeaderBytes encode(const Frame& frame)
{
    return std::bit_cast<HeaderBytes>(Wire{.kind = static_cast<std::uint32_t>(frame.kind),
                                           .rank = frame.rank,
                                           .turn = frame.turn,
                                           .first = frame.first,
                                           .bytes = frame.bytes,
                                           .reserved = 0,
                                           .number = frame.number});
}

std::optional<Frame> decode(std::span<const std::byte, kHeaderBytes> bytes)
{
    Wire wire;
    std::memcpy(&wire, bytes.data(), sizeof(wire));
    const bool isKnown = wire.kind <= static_cast<std::uint32_t>(FrameKind::Clock);
    const bool isInSlot =
        wire.turn <= 1 && wire.bytes <= kMostFrameBytes && wire.first <= kMostFrameBytes - wire.bytes;
    const auto kind = static_cast<FrameKind>(wire.kind);
    const std::size_t most = kind == FrameKind::Join      ? kMostNameBytes
                             : kind == FrameKind::Arrived ? kMostFrameBytes
                                                          : 0;
    if (!isKnown || !isInSlot || wire.bytes > most)
        return {};
    return Frame{.kind = kind,
                 .rank = wire.rank,
                 .turn = wire.turn,
                 .first = wire.first,
                 .bytes = wire.bytes,
                 .number = wire.number};
}

std::string randomText()
{
    std::array<unsigned char, kNonceBytes / 2> random{};
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
        throw Error{.what = "the system gives no random numbers", .kind = ErrorKind::Environment};
    std::string text;
    for (const unsigned char byte : random) {
        text += "0123456789abcdef"[byte >> 4];
        text += "0123456789abcdef"[byte & 15];
    }
    return text;
}

std::string proofOf(std::string_view secret, std::string_view role, std::string_view rankNonce,
                    std::string_view hubNonce)
{
    Sha256 hash;
    for (const std::string_view part : {secret, role, rankNonce, hubNonce}) {
        hash.add(std::to_string(part.size()) + ":");
        hash.add(part);
    }
    return hash.digest();
}

bool areEqual(std::string_view a, std::string_view b)
{
    if (a.size() != b.size())
        return false;
    unsigned differences = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        differences |= static_cast<unsigned>(a[i] ^ b[i]);
    return differences == 0;
}

} // namespace tilescope::rendezvous
