#include "core/session/protocol/event_stream.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

namespace tilescope::session {

void EventStream::operator()(const Event& event)
{
    const std::string line = toJsonLine(event) + '\n';
    const MutexLock lock(mutex_);
    std::size_t written = 0;
    while (written < line.size()) {
        const ssize_t length = write(descriptor_, line.data() + written, line.size() - written);
        if (length >= 0) {
            written += static_cast<std::size_t>(length);
        } else if (errno == EAGAIN) {
            pollfd ready{descriptor_, POLLOUT, 0};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

} // namespace tilescope::session
