#pragma once

#include "core/trace/host/host_record.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tilescope::record {

/// Tells the stack of a thread to the thread that writes the file: only the frames that changed. One thread.
class StackTeller {
public:
    using Frame = trace::HostRecord::StackBody::Frame;
    static constexpr std::size_t kDeepest = 256;

    /// \param frames  outermost first, at most kDeepest
    /// \param push    pushes a HostRecord; returns whether there was room
    /// \return        false if there was no room: the reader does not know the stack
    template <class Push> bool tell(std::span<const Frame> frames, std::uint32_t thread, Push push)
    {
        const auto isSame = [](const Frame& a, const Frame& b) {
            return a.name == b.name && a.line == b.line;
        };
        const auto known = std::span<const Frame>(told_).first(count_);
        const auto at = std::ranges::mismatch(frames, known, isSame).in1;
        std::size_t kept = static_cast<std::size_t>(at - frames.begin());
        if (kept == frames.size() && kept == count_)
            return true;
        count_ = 0; // until all records are in the ring
        do {
            trace::HostRecord record;
            record.kind = trace::HostRecord::Kind::Stack;
            const std::size_t count = std::min(frames.size() - kept, trace::HostRecord::StackBody::kMost);
            record.stack = {.thread = thread,
                            .kept = static_cast<std::uint16_t>(kept),
                            .count = static_cast<std::uint16_t>(count),
                            .frames = {}};
            std::copy_n(frames.begin() + static_cast<std::ptrdiff_t>(kept), count, record.stack.frames);
            if (!push(record))
                return false;
            kept += count;
        } while (kept < frames.size());
        std::ranges::copy(frames, told_.begin());
        count_ = frames.size();
        return true;
    }
    /// The next stack is told whole.
    void forget() { count_ = 0; }

private:
    std::array<Frame, kDeepest> told_{};
    std::size_t count_ = 0;
};

} // namespace tilescope::record
