#include "core/store/tracks/packed_track.h"

#include "core/store/rows/packed_bytes.h"

#include <unordered_map>

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
            throwDamagedPacking();
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
