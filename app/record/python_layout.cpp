#include "app/record/python_layout.h"

#include <dlfcn.h>

#include <array>
#include <cstring>

namespace tilescope::record {

namespace {

/// 3.13 and later describe themselves (_Py_DebugOffsets): numbers of 64 bits, whose order is that of the minor version.
std::optional<PythonLayout> describedBy(const void* runtime, int minor)
{
    constexpr std::size_t kNumbers = 100;
    std::array<std::uint64_t, kNumbers> numbers{};
    std::memcpy(numbers.data(), runtime, sizeof(numbers));
    if (std::memcmp(numbers.data(), "xdebugpy", 8) != 0 || minor > 15 ||
        static_cast<int>(numbers[1] >> 16 & 255) != minor || numbers[2] != 0)
        return std::nullopt;
    const auto number = [&numbers](int at) {
        return static_cast<int>(numbers[static_cast<std::size_t>(at)]);
    };
    const int collector = minor == 13 ? 10 : 11; // the state of the garbage collection in the interpreter
    const int collecting = minor == 13 ? 200 : number(minor == 14 ? 82 : 95); // in it
    const int lock = collector + 4;
    const int thread = minor == 13 ? 19 : 22;
    const int frame = thread + 9 + (minor == 15 ? 8 : 0);
    const int code = frame + (minor == 13 ? 6 : 8);
    return PythonLayout{.minor = minor,
                        .threadFrame = number(thread + 4),
                        .frameBytes = number(frame),
                        .previous = number(frame + 1),
                        .code = number(frame + 2),
                        .instruction = number(frame + 3),
                        .owner = number(frame + 5),
                        .firstLine = number(code + 5),
                        .file = number(code + 1),
                        .name = number(code + 2),
                        .lines = number(code + 4),
                        .bytecode = number(code + 9),
                        .textData = 40,
                        .collecting = number(collector) + collecting,
                        .lockOfInterpreter = number(lock),
                        .locals = number(frame + 4)};
}

bool isPlausible(const PythonLayout& layout)
{
    const int last = layout.frameBytes - 8;
    return layout.frameBytes > 0 && layout.frameBytes <= PythonLayout::kMostFrameBytes &&
           layout.previous >= 0 && layout.previous <= last && layout.code >= 0 && layout.code <= last &&
           layout.instruction >= 0 && layout.instruction <= last && layout.owner <= layout.frameBytes - 1;
}

/// Numbers of six bits each, the last without bit 6.
class VariableNumbers {
public:
    VariableNumbers(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}
    bool isAtEnd() const { return at_ >= end_; }
    unsigned byte() { return isAtEnd() ? 0 : *at_++; }
    unsigned number()
    {
        unsigned value = 0;
        for (unsigned shift = 0; shift < 32; shift += 6) {
            const unsigned next = byte();
            value |= (next & 63) << shift;
            if ((next & 64) == 0)
                break;
        }
        return value;
    }
    std::int64_t difference()
    {
        const unsigned value = number();
        return (value & 1) != 0 ? -static_cast<std::int64_t>(value >> 1)
                                : static_cast<std::int64_t>(value >> 1);
    }

private:
    const unsigned char* at_;
    const unsigned char* end_;
};

/// Python 3.11 and later (PEP 657).
std::int64_t lineOfLocations(std::int64_t line, const unsigned char* table, std::size_t bytes,
                             std::int64_t offset)
{
    constexpr unsigned kNone = 15;
    constexpr unsigned kLong = 14;
    constexpr unsigned kWithoutColumns = 13;
    constexpr unsigned kOneLine = 10;
    VariableNumbers entries(table, table + bytes);
    for (std::int64_t at = 0; !entries.isAtEnd();) {
        const unsigned head = entries.byte();
        const unsigned kind = head >> 3 & 15;
        if (kind == kLong || kind == kWithoutColumns) {
            line += entries.difference();
            if (kind == kLong)
                for (int i = 0; i < 3; ++i)
                    entries.number();
        } else if (kind >= kOneLine && kind < kWithoutColumns) {
            line += kind - kOneLine;
            entries.byte();
            entries.byte();
        } else if (kind != kNone) {
            entries.byte();
        }
        at += 2 * static_cast<std::int64_t>((head & 7) + 1);
        if (at > offset)
            return kind == kNone ? 0 : line;
    }
    return line;
}

} // namespace

std::optional<PythonLayout> PythonLayout::of(int minor)
{
    // No version up to 3.12 gets another layout any more.
    static constexpr PythonLayout kKnown[] = {
        {9, 24, -1, 112, 24, 32, 104, -1, 40, 104, 112, 120, 0, 48, 816, -1, 352},
        {10, 24, -1, 112, 24, 32, 96, -1, 40, 104, 112, 120, 0, 48, 816, -1, 352},
        {11, 56, 8, 72, 48, 32, 56, 69, 72, 112, 120, 136, 184, 48, 848, -1, 360, 72},
        {12, 56, 0, 72, 8, 0, 56, 70, 68, 112, 120, 136, 192, 40, 312, 384, -1, 72}};
    constexpr int kFirst = 9;
    constexpr int kLast = 12;
    if (minor < kFirst)
        return std::nullopt;
    if (minor <= kLast)
        return kKnown[minor - kFirst];
    const void* runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (!runtime)
        return std::nullopt;
    const std::optional<PythonLayout> layout = describedBy(runtime, minor);
    return layout && isPlausible(*layout) ? layout : std::nullopt;
}

std::uint32_t lineOf(int minor, std::uint32_t firstLine, const unsigned char* table, std::size_t bytes,
                     std::int64_t offset)
{
    std::int64_t line = firstLine;
    if (minor >= 11) {
        line = lineOfLocations(line, table, bytes, offset);
    } else if (minor == 10) { // PEP 626: lengths and differences; -128: no line
        std::int64_t end = 0;
        std::int64_t found = line;
        for (std::size_t i = 0; i + 1 < bytes && end <= offset; i += 2) {
            const auto difference = static_cast<signed char>(table[i + 1]);
            end += table[i];
            if (difference != -128)
                line += difference;
            found = difference == -128 ? 0 : line;
        }
        line = found;
    } else {
        std::int64_t at = 0;
        for (std::size_t i = 0; i + 1 < bytes; i += 2) {
            at += table[i];
            if (at > offset)
                break;
            line += static_cast<signed char>(table[i + 1]);
        }
    }
    return line > 0 ? static_cast<std::uint32_t>(line) : 0;
}

} // namespace tilescope::record
