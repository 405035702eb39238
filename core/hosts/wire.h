#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace tilescope::hosts {

// What a client and `tilescope serve` on a host exchange. The server begins with kGreeting, because login scripts may
// print something before it. Then both send frames: four bytes of length (big-endian), a byte of type, the body.

/// The version of the protocol is part of it.
inline constexpr std::string_view kGreeting = "tilescope serves 2\n";
/// What may precede the greeting.
inline constexpr std::size_t kMostBefore = std::size_t{64} << 10;
/// The largest body.
inline constexpr std::size_t kMostBody = std::size_t{32} << 20;
/// Files are sent in pieces of this size.
inline constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

enum class FrameType : char {
    Message = 'J', ///< a JSON object
    Piece =
        'P', ///< eight bytes of number, eight of pieceCheck() (big-endian), then the bytes of a piece of a file
    Same = 'S',   ///< eight bytes of number: the client has this piece
    Output = 'O', ///< bytes of standard output
    Errors = 'E', ///< bytes of standard error
};

struct Frame {
    FrameType type = FrameType::Message;
    std::string body;
};

/// What comes before the body of a frame.
std::string frameHead(FrameType type, std::size_t bodyBytes);

/// The bytes of a frame.
std::string framed(FrameType type, std::string_view body);

std::string bigEndian(std::uint64_t number);         ///< eight bytes
std::uint64_t fromBigEndian(std::string_view bytes); ///< of the first eight bytes

/// What a piece that was changed by accident differs in. It is no protection against intent: the connection gives it.
/// Four interleaved sums of FNV-1a over words of eight bytes, so that it takes a small part of the time of copying.
std::uint64_t pieceCheck(std::string_view bytes);

/// Finds the greeting and splits what follows it into frames. What arrives is untrusted: lengths and types are checked,
/// and at most one frame is held. One thread.
class FrameReader {
public:
    /// \param expectsGreeting  false: the stream begins with a frame
    explicit FrameReader(bool expectsGreeting) : isGreeted_(!expectsGreeting) {}

    /// Calls `take` with each frame that `bytes` completes.
    /// \throws Error (Environment)  no greeting in the first 64 KiB, a frame that is too long, an unknown type
    void feed(std::string_view bytes, const std::function<void(Frame)>& take);

    /// Where the rest of a body is expected: what is read there need not be copied. Empty: no large body has begun.
    std::span<char> expected() { return std::span(body_).subspan(filled_); }
    /// The first bytes of expected() have arrived.
    void arrived(std::size_t bytes, const std::function<void(Frame)>& take);

    bool isGreeted() const { return isGreeted_; }
    /// What came before the greeting, for an error message.
    const std::string& before() const { return held_; }

private:
    bool isGreeted_;
    std::string held_; ///< what is no frame yet, apart from the body below
    std::string body_; ///< of a large frame that has begun, in its full length
    std::size_t filled_ = 0;
    FrameType type_ = FrameType::Message; ///< of the body
};

} // namespace tilescope::hosts
