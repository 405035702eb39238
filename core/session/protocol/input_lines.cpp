#include "core/session/protocol/input_lines.h"

#include "core/session/protocol/line_splitter.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace tilescope::session {

InputLines::InputLines(int input, int output, std::function<void()> onOrphan)
    : onOrphan_(std::move(onOrphan)), end_(eventfd(0, EFD_CLOEXEC)),
      thread_([=, this] { read(input, output); })
{
}

InputLines::~InputLines()
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(end_.get(), &one, sizeof(one));
    thread_.join();
}

std::optional<std::string> InputLines::next(std::stop_token stop)
{
    MutexLock lock(mutex_);
    changed_.wait(lock, stop, [this]() REQUIRES(mutex_) { return ended_ || !lines_.empty(); });
    if (lines_.empty() || stop.stop_requested())
        return {};
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
}

void InputLines::read(int input, int output)
{
    LineSplitter splitter;
    const auto take = [this](std::string_view line) {
        const MutexLock lock(mutex_);
        lines_.emplace_back(line);
    };
    // poll() reports POLLERR for a pipe without a reader even if no events are requested.
    std::array<pollfd, 3> watched{{{input, POLLIN, 0}, {output, 0, 0}, {end_.get(), POLLIN, 0}}};
    std::vector<char> buffer(1 << 16);
    for (;;) {
        if (poll(watched.data(), watched.size(), -1) < 0)
            continue;
        if (watched[2].revents != 0)
            return;
        if (watched[0].revents != 0) {
            const ssize_t length = ::read(input, buffer.data(), buffer.size());
            if (length > 0) {
                splitter.feed({buffer.data(), static_cast<std::size_t>(length)}, take);
            } else if (length == 0 || errno != EINTR) {
                splitter.finish(take);
                watched[0].fd = -1;
                const MutexLock lock(mutex_);
                ended_ = true;
            }
            changed_.notifyAll();
        }
        if ((watched[1].revents & POLLERR) != 0) {
            watched[1].fd = -1;
            onOrphan_();
        }
    }
}

} // namespace tilescope::session
