#pragma once

#include "core/base/file_descriptor.h"
#include "core/base/mutex.h"

#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace tilescope::session {

/// Reads the lines of a pipe on a separate thread, which also detects that the reader of our output is gone:
/// the supervisor was killed. One thread calls next().
class InputLines {
public:
    /// \param input     read to its end
    /// \param output    watched if it is a pipe
    /// \param onOrphan  called once, on the reading thread, when `output` has no reader any more
    InputLines(int input, int output, std::function<void()> onOrphan);
    ~InputLines();
    InputLines(const InputLines&) = delete;
    InputLines& operator=(const InputLines&) = delete;

    /// Waits for the next line; none at the end of the input or when `stop` is requested.
    std::optional<std::string> next(std::stop_token stop);

private:
    void read(int input, int output);

    const std::function<void()> onOrphan_;
    FileDescriptor end_; ///< eventfd that ends the thread

    Mutex mutex_;
    StoppableCondition changed_;
    std::deque<std::string> lines_ GUARDED_BY(mutex_);
    bool ended_ GUARDED_BY(mutex_) = false;

    std::thread thread_; ///< started last, joined by the destructor
};

} // namespace tilescope::session
