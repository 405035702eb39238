#include "core/store/tracks/packed_track.h"

#include "core/base/error.h"

#include <cstring>
#include <unordered_map>

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

/// Small numbers of either sign as small numbers.
std::uint64_t folded(std::int64_t value)
{
    return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t unfolded(std::uint64_t value)
{
    return static_cast<std::int64_t>(value >> 1 ^ (0 - (value & 1)));
}

class Packer {
public:
    Packer() : bytes_(kSumBytes, '\0') {}

    void put(std::uint64_t value)
    {
        for (; value >= 128; value >>= 7)
            bytes_ += static_cast<char>(value | 128);
        bytes_ += static_cast<char>(value);
    }
    std::string finish() &&
    {
        const std::uint64_t sum = sumOf(std::string_view(bytes_).substr(kSumBytes));
        std::memcpy(bytes_.data(), &sum, kSumBytes);
        return std::move(bytes_);
    }

private:
    std::string bytes_;
};

[[noreturn]] void damaged()
{
    throw Error{.what = "the file is damaged: packed events are not as they were written",
                .mend = "use a copy of it, or run `tilescope verify` to see what is intact"};
}

/// Reads the output of a Packer. The checksum was verified, so the format is valid.
class Unpacker {
public:
    explicit Unpacker(std::string_view bytes)
    {
        if (bytes.size() < kSumBytes)
            damaged();
        std::uint64_t sum = 0;
        std::memcpy(&sum, bytes.data(), kSumBytes);
        bytes.remove_prefix(kSumBytes);
        if (sum != sumOf(bytes))
            damaged();
        at_ = bytes.data();
        end_ = at_ + bytes.size();
    }

    std::uint64_t take()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(*at_++);
            value |= std::uint64_t{byte & 127U} << shift;
            if (byte < 128)
                return value;
        }
        damaged();
    }
    /// How many things follow, each of at least one byte.
    std::size_t takeCount()
    {
        const std::uint64_t count = take();
        if (count > static_cast<std::uint64_t>(end_ - at_))
            damaged();
        return static_cast<std::size_t>(count);
    }

private:
    const char* at_ = nullptr;
    const char* end_ = nullptr;
};

} // namespace

std::string packBoxes(std::span<const Box> boxes)
{
    std::unordered_map<std::uint64_t, std::uint64_t> places;
    std::vector<std::uint64_t> codes;
    for (const Box& box : boxes)
        if (places.try_emplace(box.code, codes.size()).second)
            codes.push_back(box.code);
    Packer packer;
    packer.put(codes.size());
    for (const std::uint64_t code : codes)
        packer.put(code);
    packer.put(boxes.size());
    std::int64_t last = 0;
    for (const Box& box : boxes) {
        packer.put(folded(box.start - last));
        packer.put(static_cast<std::uint64_t>(box.length));
        packer.put(places.at(box.code));
        last = box.start + box.length;
    }
    return std::move(packer).finish();
}

void unpackBoxes(std::string_view bytes, std::vector<Box>& boxes)
{
    Unpacker unpacker(bytes);
    std::vector<std::uint64_t> codes(unpacker.takeCount());
    for (std::uint64_t& code : codes)
        code = unpacker.take();
    const std::size_t count = unpacker.takeCount();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < count; ++i) {
        Box box;
        box.start = last + unfolded(unpacker.take());
        box.length = static_cast<std::int64_t>(unpacker.take());
        const std::uint64_t place = unpacker.take();
        if (place >= codes.size())
            damaged();
        box.code = codes[place];
        last = box.start + box.length;
        boxes.push_back(box);
    }
}

std::string packPoints(std::span<const MemoryPoint> points)
{
    Packer packer;
    packer.put(points.size());
    MemoryPoint last;
    for (const MemoryPoint& point : points) {
        packer.put(folded(point.time - last.time));
        packer.put(folded(point.allocated - last.allocated));
        packer.put(folded(point.reserved - last.reserved));
        last = point;
    }
    return std::move(packer).finish();
}

void unpackPoints(std::string_view bytes, std::vector<MemoryPoint>& points)
{
    Unpacker unpacker(bytes);
    const std::size_t count = unpacker.takeCount();
    MemoryPoint last;
    for (std::size_t i = 0; i < count; ++i) {
        last.time += unfolded(unpacker.take());
        last.allocated += unfolded(unpacker.take());
        last.reserved += unfolded(unpacker.take());
        points.push_back(last);
    }
}

} // namespace tilescope::store
