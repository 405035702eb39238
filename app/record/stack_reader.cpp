#include "app/record/stack_reader.h"

#include "core/base/units.h"
#include "core/trace/host/thread_log.h"

#include <algorithm>

namespace tilescope::record {

namespace {

constexpr int kReadings = 3;

} // namespace

/// Reads frames at known addresses in one call.
/// \return  how many could be read
std::size_t StackReader::readAll(const GuardedMemory& memory, const Frames& frames, std::size_t count,
                                 Frames& into)
{
    const auto bytes = static_cast<std::size_t>(layout_.frameBytes);
    for (std::size_t i = 0; i < count; ++i)
        pieces_[i] = {reinterpret_cast<void*>(frames[i].at), bytes};
    const ssize_t read = count > 0 ? memory.gather(raw_.data(), count * bytes, pieces_.data(), count) : 0;
    const std::size_t whole = read > 0 ? static_cast<std::size_t>(read) / bytes : 0;
    for (std::size_t i = 0; i < whole; ++i)
        into[i] = rawFrame(layout_, raw_.data() + i * bytes, frames[i].at);
    return whole;
}

/// The frames, counted from the outermost, that two readings agree on: their callers, their code and, of all but the
/// innermost, which runs, their instruction.
std::size_t StackReader::sameFrames(std::size_t depth) const
{
    std::size_t same = 0;
    while (same < depth) {
        const RawFrame& a = found_[depth - 1 - same];
        const RawFrame& b = again_[depth - 1 - same];
        const bool runs = same + 1 == depth;
        if (a.previous != b.previous || a.code != b.code || (!runs && a.instruction != b.instruction))
            break;
        ++same;
    }
    return same;
}

bool StackReader::isOfGenerator(const GuardedMemory& memory, const RawFrame& frame) const
{
    if (layout_.owner >= 0)
        return frame.owner == PythonLayout::kFrameOfGenerator;
    int flags = 0;
    return !memory.read(&flags, frame.code + PythonLayout::kFlags, sizeof(flags)) ||
           (flags & PythonLayout::kOfGenerators) != 0;
}

bool StackReader::hasCaller(const GuardedMemory& memory, const RawFrame& frame) const
{
    std::array<char, PythonLayout::kMostFrameBytes> bytes{};
    return !memory.read(bytes.data(), frame.at, static_cast<std::size_t>(layout_.frameBytes)) ||
           rawFrame(layout_, bytes.data(), frame.at).previous != 0;
}

bool StackReader::isInInstruction(const GuardedMemory& memory, std::uintptr_t state)
{
    std::uintptr_t innermost = 0;
    return found_[0].instruction == again_[0].instruction &&
           innermostFrame(memory, layout_, state, innermost) && innermost == found_[0].at &&
           readAll(memory, found_, 1, guess_) == 1 && guess_[0].instruction == found_[0].instruction &&
           guess_[0].code == found_[0].code;
}

std::size_t StackReader::read(const GuardedMemory& memory, std::uintptr_t state, const trace::ThreadLog* log,
                              ReadStack& stack)
{
    for (int reading = 0; reading < kReadings; ++reading) {
        std::uintptr_t at = 0;
        if (!innermostFrame(memory, layout_, state, at))
            return 0;
        const std::size_t guesses = readAll(memory, stack.frames, stack.depth, guess_);
        std::size_t from = 0;
        std::size_t depth = 0;
        while (at != 0 && depth < found_.size()) {
            std::size_t hit = from;
            while (hit < guesses && guess_[hit].at != at)
                ++hit;
            if (hit < guesses) {
                found_[depth] = guess_[hit];
                from = hit + 1;
            } else {
                std::array<char, PythonLayout::kMostFrameBytes> bytes{};
                if (!memory.read(bytes.data(), at, static_cast<std::size_t>(layout_.frameBytes)))
                    break;
                found_[depth] = rawFrame(layout_, bytes.data(), at);
            }
            at = found_[depth++].previous;
        }
        std::copy_n(found_.begin(), depth, stack.frames.begin());
        stack.depth = depth;
        at_ = nanosecondsOf(TraceClock::now());
        isInCall_ = log && log->isInCall();
        if (at != 0 || depth == 0 || isOfGenerator(memory, found_[depth - 1]) ||
            readAll(memory, found_, depth, again_) != depth)
            continue;
        const std::size_t same = sameFrames(depth);
        std::uintptr_t innermost = 0;
        const bool isInnermost =
            innermostFrame(memory, layout_, state, innermost) && innermost == found_[0].at;
        // The outermost frame must not be that of a generator that is being created, which is not marked as one yet.
        if (same == 0 || hasCaller(memory, found_[depth - 1]))
            continue;
        if (same == depth && isInnermost)
            return depth;
        // The innermost calls changed during every reading. The frames of their callers did not, and are returned.
        if (reading + 1 == kReadings) {
            std::copy_n(found_.begin() + static_cast<std::ptrdiff_t>(depth - same), same,
                        stack.frames.begin());
            return stack.depth = same;
        }
    }
    return 0;
}

bool StackReader::isStillThere(const GuardedMemory& memory, const ReadStack& stack, std::size_t depth)
{
    return readAll(memory, stack.frames, depth, again_) == depth &&
           std::equal(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(depth),
                      again_.begin(), [](const RawFrame& a, const RawFrame& b) {
                          return a.previous == b.previous && a.code == b.code;
                      });
}

} // namespace tilescope::record
