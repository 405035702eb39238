#include "core/store/rows/packed_bytes.h"

#include "core/base/error.h"

#include <algorithm>
#include <cstring>

namespace tilescope::store {

namespace {

constexpr std::size_t kSumBytes = 8;

std::uint64_t sumOf(std::string_view bytes)
{
    std::uint64_t sum = bytes.size() + 0x243F6A8885A308D3ULL;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
        sum = (sum ^ word) * 0x9E3779B97F4A7C15ULL;
        sum ^= sum >> 29;
    }
    return sum;
}

} // namespace

Packer::Packer() : bytes_(kSumBytes, '\0') {}

std::string Packer::finish() &&
{
    const std::uint64_t sum = sumOf(std::string_view(bytes_).substr(kSumBytes));
    std::memcpy(bytes_.data(), &sum, kSumBytes);
    return std::move(bytes_);
}

void throwDamagedPacking()
{
    throw Error{.what = "the file is damaged: packed events are not as they were written",
                .remedy = "use a copy of it, or run `tilescope verify` to see what is intact"};
}

Unpacker::Unpacker(std::string_view bytes)
{
    if (bytes.size() < kSumBytes)
        throwDamagedPacking();
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes.data(), kSumBytes);
    bytes.remove_prefix(kSumBytes);
    if (sum != sumOf(bytes))
        throwDamagedPacking();
    at_ = bytes.data();
    end_ = at_ + bytes.size();
}

std::size_t Unpacker::takeCount()
{
    const std::uint64_t count = take();
    if (count > static_cast<std::uint64_t>(end_ - at_))
        throwDamagedPacking();
    return static_cast<std::size_t>(count);
}

} // namespace tilescope::store
