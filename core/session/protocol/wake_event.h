#pragma once

#include "core/base/file_descriptor.h"

#include <sys/eventfd.h>

#include <cstdint>

namespace tilescope::session {

/// A descriptor that poll() can wait for and that any thread may signal.
class WakeEvent {
public:
    WakeEvent() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    void signal() const
    {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t written = write(descriptor_.get(), &one, sizeof(one));
    }
    int descriptor() const { return descriptor_.get(); }
    void reset() const
    {
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t length = read(descriptor_.get(), &count, sizeof(count));
    }

private:
    FileDescriptor descriptor_;
};

} // namespace tilescope::session
