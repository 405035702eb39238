#include "app/record/code_places.h"

#include "app/record/find_function.h"
#include "app/record/python_frames.h"
#include "core/trace/host/path_tree.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <type_traits>

namespace tilescope::record {

namespace {

constexpr std::int64_t kLongestText = 4096;     // characters
constexpr std::int64_t kLongestTable = 1 << 20; // bytes

template <class Value> Value valueAt(const char* object, int offset)
{
    Value value;
    std::memcpy(&value, object + offset, sizeof(value));
    return value;
}

std::uintptr_t codeType() noexcept
{
    static const auto type = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_DEFAULT, "PyCode_Type"));
    return type;
}

void appendUtf8(std::string& out, std::uint32_t character)
{
    const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (character < 0x80)
        return put(character);
    if (character < 0x800)
        return put(0xc0 | character >> 6), put(0x80 | (character & 63));
    if (character < 0x10000)
        put(0xe0 | character >> 12);
    else
        put(0xf0 | (character >> 18 & 7)), put(0x80 | (character >> 12 & 63));
    put(0x80 | (character >> 6 & 63));
    put(0x80 | (character & 63));
}

} // namespace

GuardedMemory::GuardedMemory() : process_(getpid()) {}

ssize_t GuardedMemory::gather(void* to, std::size_t bytes, const iovec* pieces,
                              std::size_t count) const noexcept
{
    const iovec here{to, bytes};
    return process_vm_readv(process_, &here, 1, pieces, count, 0);
}

bool CodeDeaths::watch()
{
    int (*add)(int (*)(int, void*)) = nullptr;
    if (!isWatched() && findFunction(add, "PyCode_AddWatcher"))
        watched.store(add([](int event, void* code) { return note(event, code); }) >= 0);
    return isWatched();
}

int CodeDeaths::note(int event, void* code) noexcept
{
    constexpr int kDestroyed = 1;
    if (event != kDestroyed)
        return 0;
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    places[slotOf(address)].fetch_add(1, std::memory_order_release);
    const std::uint32_t number = counter.load(std::memory_order_relaxed);
    latest[number % kLatest].store(address, std::memory_order_relaxed);
    counter.store(number + 1, std::memory_order_release);
    return 0;
}

bool CodeDeaths::mayHaveEnded(std::uintptr_t code, std::uint32_t since) noexcept
{
    const std::uint32_t now = count();
    if (now - since >= kLatest)
        return true;
    for (std::uint32_t i = since; i != now; ++i)
        if (latest[i % kLatest].load(std::memory_order_relaxed) == code)
            return true;
    return false;
}

template <class Memory>
bool CodePlaces<Memory>::find(const Memory& memory, std::uintptr_t code, std::uintptr_t instruction,
                              StackTeller::Frame& frame)
{
    Code* owner = known(memory, code);
    if (!owner)
        return false;
    Place& place = places_[(code / 16 * 31 + instruction / 2) % kPlaces];
    if (place.code != code || place.instruction != instruction || place.deaths != owner->deaths ||
        place.identity != owner->identity)
        place = {.code = code,
                 .instruction = instruction,
                 .deaths = owner->deaths,
                 .name = owner->name,
                 .line = line(memory, *owner, instruction),
                 .identity = owner->identity};
    frame = {.name = place.name, .line = place.line};
    return true;
}

template <class Memory>
bool CodePlaces<Memory>::identify(const Memory& memory, std::uintptr_t address, Identity& identity) const
{
    if constexpr (std::is_same_v<Memory, OwnStackMemory>) {
        const auto* object = reinterpret_cast<const char*>(address);
        if (valueAt<std::uintptr_t>(object, PythonLayout::kType) != codeType())
            return false;
        identity = {.name = valueAt<std::uintptr_t>(object, layout_.name),
                    .file = valueAt<std::uintptr_t>(object, layout_.file),
                    .lines = valueAt<std::uintptr_t>(object, layout_.lines),
                    .firstLine = valueAt<std::uint32_t>(object, layout_.firstLine)};
        identity.hash =
            valueAt<std::int64_t>(reinterpret_cast<const char*>(identity.name), PythonLayout::kHash);
        return true;
    }
    constexpr int kPointer = sizeof(std::uintptr_t);
    constexpr std::size_t kMost = 192;
    const int bytes = std::max({layout_.firstLine, layout_.file, layout_.name, layout_.lines}) + kPointer;
    std::array<char, kMost> object{};
    if (static_cast<std::size_t>(bytes) > kMost ||
        !memory.read(object.data(), address, static_cast<std::size_t>(bytes)) ||
        valueAt<std::uintptr_t>(object.data(), PythonLayout::kType) != codeType())
        return false;
    identity = {.name = valueAt<std::uintptr_t>(object.data(), layout_.name),
                .file = valueAt<std::uintptr_t>(object.data(), layout_.file),
                .lines = valueAt<std::uintptr_t>(object.data(), layout_.lines),
                .firstLine = valueAt<std::uint32_t>(object.data(), layout_.firstLine)};
    return memory.read(&identity.hash, identity.name + PythonLayout::kHash, sizeof(identity.hash));
}

template <class Memory>
typename CodePlaces<Memory>::Code* CodePlaces<Memory>::known(const Memory& memory, std::uintptr_t address)
{
    if (address < 4096 || address % sizeof(void*) != 0)
        return nullptr;
    Code& code = codes_[address / 16 * 0x9e3779b1U % kCodes];
    const std::uint32_t deaths = isOfThisProcess_ ? CodeDeaths::at(address) : 0;
    const bool isKnown = code.address == address && code.deaths == deaths;
    if (isKnown && isOfThisProcess_ && CodeDeaths::isWatched())
        return &code;
    Identity identity;
    if (!identify(memory, address, identity))
        return nullptr;
    if (isKnown && identity == code.identity)
        return &code;
    trace::PathTree& tree = trace::PathTree::instance();
    const std::string name = frameName(text(memory, identity.file), static_cast<long>(identity.firstLine),
                                       text(memory, identity.name));
    code = {.address = address,
            .deaths = deaths,
            .name = tree.child(tree.names(), name)->id,
            .identity = identity};
    return &code;
}

template <class Memory>
std::string CodePlaces<Memory>::text(const Memory& memory, std::uintptr_t string) const
{
    // PyASCIIObject, and PyCompactUnicodeObject for other characters.
    constexpr std::size_t kHead = 36;
    std::array<char, kHead> head{};
    if (string < 4096 || !memory.read(head.data(), string, kHead))
        return "?";
    const auto length = valueAt<std::int64_t>(head.data(), PythonLayout::kLength);
    const auto state = valueAt<std::uint32_t>(head.data(), PythonLayout::kTextState);
    const unsigned kind = state >> 2 & 7;
    const bool isAscii = (state >> 6 & 1) != 0;
    if (length < 0 || length > kLongestText || (state >> 5 & 1) == 0 || (kind != 1 && kind != 2 && kind != 4))
        return "?";
    const auto count = static_cast<std::size_t>(length);
    const int more = isAscii ? 0 : layout_.minor >= 12 ? 16 : 24;
    std::string raw(count * kind, '\0');
    if (!memory.read(raw.data(), string + static_cast<std::uintptr_t>(layout_.textData + more), raw.size()))
        return "?";
    if (isAscii)
        return raw;
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t character = 0;
        std::memcpy(&character, raw.data() + i * kind, kind);
        appendUtf8(text, character);
    }
    return text;
}

template <class Memory>
std::uint32_t CodePlaces<Memory>::line(const Memory& memory, const Code& code, std::uintptr_t instruction)
{
    std::int64_t length = 0;
    const std::uintptr_t lines = code.identity.lines;
    if (!memory.read(&length, lines + PythonLayout::kLength, sizeof(length)) || length < 0 ||
        length > kLongestTable)
        return 0;
    table_.resize(static_cast<std::size_t>(length));
    if (!memory.read(table_.data(), lines + PythonLayout::kBytesData, table_.size()))
        return 0;
    std::int64_t offset = 0;
    if (layout_.minor <= 10) // of the last instruction: in bytes, from 3.10 on in units of two
        offset =
            static_cast<std::int64_t>(static_cast<std::int32_t>(instruction)) * (layout_.minor == 10 ? 2 : 1);
    else
        offset = static_cast<std::int64_t>(instruction - code.address) - layout_.bytecode;
    return lineOf(layout_.minor, code.identity.firstLine, table_.data(), table_.size(),
                  std::max<std::int64_t>(offset, 0));
}

template class CodePlaces<OwnStackMemory>;
template class CodePlaces<GuardedMemory>;

} // namespace tilescope::record
