#include "tests/unit/kernels/emulator/copies.h"

#include <bit>
#include <cstring>
#include <deque>
#include <map>

namespace tilescope::kernels::emulator {

namespace {

constexpr int kBoxBytes = 128; // per row

/// The nearest TF32. Infinities and NaN do not change.
std::uint32_t roundedToTf32(std::uint32_t bits)
{
    if ((bits & 0x7f800000U) == 0x7f800000U) {
        return bits;
    }
    return (bits + 0xfffU + (bits >> 13 & 1)) & ~0x1fffU;
}

/// Calls each(address in shared memory, element, or null outside the tensor).
template <class Each>
void forEachElement(const TensorMap& map, std::uint32_t shared, const std::int64_t (&at)[4], const Each& each)
{
    for (int head = 0; head < map.boxHeads; ++head) {
        for (int row = 0; row < map.boxRows; ++row) {
            const auto line = static_cast<std::uint32_t>((head * map.boxRows + row) * kBoxBytes);
            for (int column = 0; column < kBoxBytes / map.elementBytes; ++column) {
                const std::int64_t position[4] = {at[0] + column, at[1] + row, at[2] + head, at[3]};
                bool inside = true;
                std::int64_t offset = position[0] * map.elementBytes;
                for (int i = 0; i < 4; ++i) {
                    inside = inside && position[i] >= 0 && position[i] < map.sizes[i];
                    offset += i > 0 ? position[i] * map.strides[i - 1] : 0;
                }
                const auto within = static_cast<std::uint32_t>(column * map.elementBytes);
                each(Machine::here().at(swizzled(shared + line + within)),
                     inside ? map.data + offset : nullptr);
            }
        }
    }
}

} // namespace

CUtensorMap TensorMap::encoded() const
{
    static_assert(sizeof(TensorMap) <= sizeof(CUtensorMap));
    CUtensorMap map{};
    std::memcpy(&map, this, sizeof(*this));
    return map;
}

TensorMap TensorMap::decoded(const CUtensorMap& encoded)
{
    TensorMap map{};
    std::memcpy(&map, &encoded, sizeof(map));
    return map;
}

void startLoad(const CUtensorMap& encoded, void* destination, Barrier& barrier, int column, int row, int head,
               int batch)
{
    Machine::here().later([map = TensorMap::decoded(encoded), shared = Machine::here().address(destination),
                           &barrier, column, row, head, batch] {
        forEachElement(map, shared, {column, row, head, batch},
                       [&](unsigned char* to, const unsigned char* from) {
                           std::memset(to, 0, static_cast<std::size_t>(map.elementBytes));
                           if (from) {
                               std::memcpy(to, from, static_cast<std::size_t>(map.elementBytes));
                           }
                           if (map.roundToTf32) {
                               std::uint32_t bits = 0;
                               std::memcpy(&bits, to, sizeof(bits));
                               bits = roundedToTf32(bits);
                               std::memcpy(to, &bits, sizeof(bits));
                           }
                       });
        barrier.addBytes(-map.boxRows * map.boxHeads * kBoxBytes);
    });
}

void startLoad(void* destination, const void* source, std::uint32_t bytes, Barrier& barrier)
{
    Machine::here().later([destination, source, bytes, &barrier] {
        std::memcpy(destination, source, bytes);
        barrier.addBytes(-static_cast<std::int32_t>(bytes));
    });
}

void startStore(const CUtensorMap& encoded, const void* source, int column, int row, int head, int batch)
{
    Machine& here = Machine::here();
    ++here.storesOf(here.thread());
    here.later([map = TensorMap::decoded(encoded), shared = here.address(source), thread = here.thread(),
                column, row, head, batch] {
        forEachElement(map, shared, {column, row, head, batch},
                       [&](const unsigned char* from, unsigned char* to) {
                           if (to) {
                               std::memcpy(to, from, static_cast<std::size_t>(map.elementBytes));
                           }
                       });
        --Machine::here().storesOf(thread);
    });
}

void startAdd(float* destination, const float* source, std::uint32_t bytes)
{
    Machine& here = Machine::here();
    ++here.storesOf(here.thread());
    here.later([destination, source, bytes, thread = here.thread()] {
        for (std::uint32_t i = 0; i < bytes / sizeof(float); ++i) {
            destination[i] += source[i];
        }
        --Machine::here().storesOf(thread);
    });
}

namespace {

/// A thread's copies by cp.async that the machine has not executed yet: committed groups, and those to commit.
struct CopyGroups {
    std::deque<std::vector<std::function<void()>>> committed;
    std::vector<std::function<void()>> started;
};

CopyGroups& copyGroups()
{
    static std::map<unsigned, CopyGroups> ofThreads;
    return ofThreads[Machine::here().thread()];
}

} // namespace

void startCopy16(std::uint32_t to, const void* from, bool valid)
{
    constexpr std::size_t kBytes = 16;
    const auto copy = [to, from, valid] {
        unsigned char* const target = Machine::here().at(to);
        valid ? std::memcpy(target, from, kBytes) : std::memset(target, 0, kBytes);
    };
    if (Machine::here().productPace() == Pace::Early) {
        copy();
    } else {
        copyGroups().started.emplace_back(copy);
    }
}

void commitCopies()
{
    CopyGroups& groups = copyGroups();
    groups.committed.push_back(std::move(groups.started));
    groups.started.clear();
}

void awaitCopies(std::size_t pending)
{
    auto& committed = copyGroups().committed;
    while (committed.size() > pending) {
        for (const auto& copy : committed.front()) {
            copy();
        }
        committed.pop_front();
    }
}

void awaitStores()
{
    Machine& here = Machine::here();
    here.waitUntil("their stores", [&count = here.storesOf(here.thread())] { return count == 0; });
}

} // namespace tilescope::kernels::emulator
