#pragma once

#include <cstdint>
#include <optional>

namespace tilescope::record {

/// Where CPython keeps the stack of a thread, in bytes from the beginning of each structure. x86-64 and AArch64, builds
/// with the interpreter's lock.
struct PythonLayout {
    int minor = 0; ///< of Python 3

    // PyThreadState
    int threadFrame = 0; ///< the innermost frame
    int threadOuter =
        -1; ///< 3.11 and 3.12: threadFrame is a structure, with the frame at this place; -1: it is the frame

    // A frame
    int frameBytes = 0;
    int previous = 0; ///< the caller's frame
    int code = 0;
    int instruction = 0; ///< up to 3.10 the number of the instruction, later its address
    int owner = -1;      ///< -1: every frame is that of a function

    // PyCodeObject
    int firstLine = 0;
    int file = 0;
    int name = 0;
    int lines = 0;    ///< the table of lines
    int bytecode = 0; ///< of the first instruction

    int textData = 0; ///< PyASCIIObject: the characters

    // PyInterpreterState, which a PyThreadState names at kInterpreter. -1: unknown
    int collecting = -1;        ///< whether the garbage collection runs, an int
    int lockOfInterpreter = -1; ///< pointer to the interpreter's lock, from 3.12 on
    int lockOfRuntime = -1;     ///< up to 3.11: the lock itself, in _PyRuntime

    int locals = -1; ///< of a frame: its first argument. -1: not known

    /// The layout of the Python in this process.
    /// \param minor  of Python 3
    /// \return       none if it is unknown, or if this Python has no interpreter's lock
    static std::optional<PythonLayout> of(int minor);

    // The same in all versions.
    static constexpr int kInterpreter = 16; ///< PyThreadState
    static constexpr int kLockHolder = 8;   ///< of the lock: the PyThreadState that has it, or had it last
    static constexpr int kLocked = 16;      ///< an int
    static constexpr int kLockBytes = 208;  ///< with the condition by which it is awaited
    static constexpr int kType = 8;         ///< of an object
    static constexpr int kLength = 16;      ///< of text and bytes
    static constexpr int kHash = 24;        ///< of text
    static constexpr int kTextState = 32;   ///< how its characters are stored
    static constexpr int kBytesData = 32;
    static constexpr int kFlags = 36;           ///< of a code object, up to 3.10, an int
    static constexpr int kOfGenerators = 0x2a0; ///< of them: a generator, coroutine or asynchronous generator
    static constexpr int kFrameOfGenerator = 1; ///< owner, from 3.11 on
    static constexpr int kFrameOfInterpreter =
        3; ///< owner of frames that are not those of functions, from here on
    static constexpr int kMostFrameBytes = 128;
};

/// The line of an instruction.
/// \param table  PyCodeObject's table of lines
/// \param offset of the instruction in the bytecode, in bytes
/// \return       0 if it has none
std::uint32_t lineOf(int minor, std::uint32_t firstLine, const unsigned char* table, std::size_t bytes,
                     std::int64_t offset);

} // namespace tilescope::record
