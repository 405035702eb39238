#include "core/base/utf16.h"

#include <utility>

namespace tilescope {

namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr char16_t kHighSurrogates = 0xd800;
constexpr char16_t kLowSurrogates = 0xdc00;
constexpr char16_t kBehindSurrogates = 0xe000;
constexpr int kSurrogateBits = 10;

void append(char32_t c, std::string& to)
{
    const auto byte = [&to](char32_t value) { to += static_cast<char>(static_cast<unsigned char>(value)); };
    constexpr char32_t kLow = 0x3f;
    constexpr char32_t kFollows = 0x80;
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xc0 | c >> 6);
        byte(kFollows | (c & kLow));
    } else if (c < 0x10000) {
        byte(0xe0 | c >> 12);
        byte(kFollows | (c >> 6 & kLow));
        byte(kFollows | (c & kLow));
    } else {
        byte(0xf0 | c >> 18);
        byte(kFollows | (c >> 12 & kLow));
        byte(kFollows | (c >> 6 & kLow));
        byte(kFollows | (c & kLow));
    }
}

} // namespace

std::optional<std::endian> utf16OrderOf(std::string_view head)
{
    if (head.size() < 2)
        return {};
    const bool isLittle = head.starts_with("\xff\xfe") || (head[0] != '\0' && head[1] == '\0');
    const bool isBig = head.starts_with("\xfe\xff") || (head[0] == '\0' && head[1] != '\0');
    // Four bytes for a character are UTF-32.
    const bool isWide = head.size() >= 4 &&
                        (isLittle ? head[2] == '\0' && head[3] == '\0' : head[0] == '\0' && head[1] == '\0');
    if (isWide || (!isLittle && !isBig))
        return {};
    return isLittle ? std::endian::little : std::endian::big;
}

void Utf16Decoder::add(char16_t unit, std::string& to)
{
    const bool isLow = unit >= kLowSurrogates && unit < kBehindSurrogates;
    if (const char16_t high = std::exchange(high_, u'\0'); high != 0) {
        if (isLow)
            return append(0x10000 + ((char32_t(high) - kHighSurrogates) << kSurrogateBits) +
                              (char32_t(unit) - kLowSurrogates),
                          to);
        append(kReplacement, to);
    }
    if (unit >= kHighSurrogates && unit < kLowSurrogates)
        high_ = unit;
    else
        append(isLow ? kReplacement : char32_t(unit), to);
}

void Utf16Decoder::decode(std::string_view bytes, std::string& to)
{
    for (const char each : bytes) {
        const auto byte = static_cast<unsigned char>(each);
        if (!first_) {
            first_ = byte;
            continue;
        }
        const auto first = static_cast<unsigned>(*std::exchange(first_, std::nullopt));
        add(static_cast<char16_t>(order_ == std::endian::little ? first | unsigned(byte) << 8
                                                                : first << 8 | byte),
            to);
    }
}

} // namespace tilescope
