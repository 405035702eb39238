#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::rendezvous {

/// The kind of a frame between a rank and the hub. The hub forwards Arrived and Announced to the other ranks of the group.
enum class FrameKind : std::uint32_t {
    Join,      ///< first frame of a rank; number: size of the group, bytes: name of the group
    Arrived,   ///< at barrier `number`; bytes: part of the rank's slot, from byte `first` of set `turn`
    Announced, ///< the rank has started collective `number`
    Left,      ///< from the hub: the rank has left
    Clock,     ///< a question for the hub's time; in the answer, number: nanoseconds of TraceClock
};

/// The header of a frame, followed by `bytes` bytes.
struct Frame {
    FrameKind kind = FrameKind::Join;
    std::int32_t rank = 0; ///< the sender; the hub replaces it by that of the connection
    std::uint32_t turn = 0;
    std::uint32_t first = 0;
    std::uint32_t bytes = 0;
    std::int64_t number = 0;
};

inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kMostFrameBytes = std::size_t{1} << 20; ///< of a slot
inline constexpr std::size_t kMostNameBytes = 200;                   ///< of a group
inline constexpr int kMostMembers = 64;                              ///< of a group

using HeaderBytes = std::array<std::byte, kHeaderBytes>;

HeaderBytes encode(const Frame& frame);
/// None if the bytes are not a header: an unknown kind, or a part outside a slot.
std::optional<Frame> decode(std::span<const std::byte, kHeaderBytes> bytes);

// A connection begins with proofs that both sides know the secret, which is not sent itself:
//   rank to hub:  kGreeting and a nonce
//   hub to rank:  a nonce, and proofOf(secret, "hub", both nonces)
//   rank to hub:  proofOf(secret, "rank", both nonces)
inline constexpr std::string_view kGreeting = "TSHUB1";
inline constexpr std::size_t kNonceBytes = 32; ///< as text
inline constexpr std::size_t kProofBytes = 64; ///< as text

/// 128 random bits as kNonceBytes hexadecimal digits.
/// \throws Error  the system has no random numbers
std::string randomText();
std::string proofOf(std::string_view secret, std::string_view role, std::string_view rankNonce,
                    std::string_view hubNonce);
/// Compares in a time that does not depend on the texts.
bool areEqual(std::string_view a, std::string_view b);

} // namespace tilescope::rendezvous
