#pragma once

#include "app/record/code_places.h"
#include "app/record/python_layout.h"
#include "app/record/stack_teller.h"
#include "app/record/stack_walk.h"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace tilescope::trace {
class ThreadLog;
}

namespace tilescope::record {

/// The frames of a thread's stack as they were read last, innermost first.
struct ReadStack {
    std::array<RawFrame, StackTeller::kDeepest> frames{};
    std::size_t depth = 0;
};

/// Reads the Python stacks of threads that run meanwhile, each twice, from the memory of their processes. One thread.
class StackReader {
public:
    explicit StackReader(const PythonLayout& layout) : layout_(layout) {}

    /// Reads the frames as far as two readings agree. Most are where they were when the stack was read before.
    /// \param state  PyThreadState
    /// \param log    of the thread; null: of another process
    /// \return       the number of frames; 0: the stack changed each time, or could not be read
    std::size_t read(const GuardedMemory& memory, std::uintptr_t state, const trace::ThreadLog* log,
                     ReadStack& stack);
    /// A time between the two readings: at any other, another call may run.
    std::int64_t readAt() const { return at_; }
    /// Whether the thread was in a call into CUDA then.
    bool wasInCall() const { return isInCall_; }

    /// Whether the thread is in the same instruction as in both readings of read(): code of Python that runs would be in
    /// another one by now.
    bool isInInstruction(const GuardedMemory& memory, std::uintptr_t state);
    /// Whether the calls of a stack go on: then their code objects have not ended.
    bool isStillThere(const GuardedMemory& memory, const ReadStack& stack, std::size_t depth);

private:
    using Frames = std::array<RawFrame, StackTeller::kDeepest>;

    std::size_t readAll(const GuardedMemory& memory, const Frames& frames, std::size_t count, Frames& into);
    std::size_t sameFrames(std::size_t depth) const;
    /// A generator that pauses has no caller, so that its frame may look like the outermost one.
    bool isOfGenerator(const GuardedMemory& memory, const RawFrame& frame) const;
    /// Whether the frame, which had no caller before, has one now, or cannot be read.
    bool hasCaller(const GuardedMemory& memory, const RawFrame& frame) const;

    const PythonLayout& layout_;
    Frames guess_{};
    Frames found_{};
    Frames again_{};
    std::array<iovec, StackTeller::kDeepest> pieces_{};
    std::array<char, StackTeller::kDeepest * PythonLayout::kMostFrameBytes> raw_{};
    std::int64_t at_ = 0;
    bool isInCall_ = false;
};

} // namespace tilescope::record
