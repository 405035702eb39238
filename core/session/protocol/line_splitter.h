#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace tilescope::session {

/// Splits a stream of bytes into lines. Holds at most `limit` bytes: a longer line is dropped completely and
/// counted, so that a program that never ends its line cannot exhaust memory. One thread.
class LineSplitter {
public:
    static constexpr std::size_t kLineLimit = std::size_t{1} << 20;

    explicit LineSplitter(std::size_t limit = kLineLimit) : limit_(limit) {}

    /// Calls `take` with each line that `bytes` completes, without its line break. O(bytes).
    void feed(std::string_view bytes, const std::function<void(std::string_view)>& take);
    /// The stream has ended: text after the last line break is also a line.
    void finish(const std::function<void(std::string_view)>& take);

    std::size_t dropped() const { return dropped_; } ///< number of lines that were too long

private:
    void hold(std::string_view part);

    std::size_t limit_;
    std::string held_;
    bool skipping_ = false; ///< within a line that is too long
    std::size_t dropped_ = 0;
};

} // namespace tilescope::session
