#include "core/store/tracks/packed_track.h"

#include "core/store/rows/packed_bytes.h"

#include <unordered_map>
#include <utility>

namespace tilescope::store {

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

PackedBoxes::PackedBoxes(std::string bytes) : bytes_(std::move(bytes))
{
    Unpacker unpacker(bytes_);
    codes_.resize(unpacker.takeCount());
    for (std::uint64_t& code : codes_)
        code = unpacker.take();
    size_ = unpacker.takeCount();
    boxes_ = bytes_.size() - unpacker.left();
}

void unpackBoxes(std::string_view bytes, std::vector<Box>& boxes)
{
    const PackedBoxes packed{std::string(bytes)};
    boxes.reserve(boxes.size() + packed.size());
    packed.each([&](std::int64_t start, std::int64_t length, std::size_t place) {
        boxes.push_back({start, length, packed.codes()[place]});
    });
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
