#pragma once

#include "app/record/python_layout.h"

#include <cstdint>
#include <cstring>

namespace tilescope::record {

/// A frame as the memory has it.
struct RawFrame {
    std::uintptr_t at = 0;
    std::uintptr_t previous = 0;
    std::uintptr_t code = 0;
    std::uintptr_t instruction = 0;
    int owner = 0;
};

/// \param bytes  layout.frameBytes from the frame's address on
inline RawFrame rawFrame(const PythonLayout& layout, const char* bytes, std::uintptr_t at) noexcept
{
    RawFrame frame{.at = at};
    std::memcpy(&frame.previous, bytes + layout.previous, sizeof(frame.previous));
    std::memcpy(&frame.code, bytes + layout.code, sizeof(frame.code));
    // Up to 3.10 a number of 32 bits.
    std::memcpy(&frame.instruction, bytes + layout.instruction,
                layout.minor <= 10 ? 4 : sizeof(frame.instruction));
    if (layout.owner >= 0)
        frame.owner = static_cast<unsigned char>(bytes[layout.owner]);
    if (layout.minor >= 13) // the lowest bits are a tag
        frame.code &= ~std::uintptr_t{3};
    return frame;
}

/// Whether the frame is that of a function, rather than the interpreter's own.
inline bool isOfFunction(const RawFrame& frame) noexcept
{
    return frame.owner < PythonLayout::kFrameOfInterpreter;
}

/// The innermost frame of a thread.
/// \param state  PyThreadState
template <class Memory>
bool innermostFrame(const Memory& memory, const PythonLayout& layout, std::uintptr_t state,
                    std::uintptr_t& frame) noexcept
{
    if (!memory.read(&frame, state + static_cast<std::uintptr_t>(layout.threadFrame), sizeof(frame)))
        return false;
    return layout.threadOuter < 0 ||
           (frame != 0 &&
            memory.read(&frame, frame + static_cast<std::uintptr_t>(layout.threadOuter), sizeof(frame)));
}

} // namespace tilescope::record
