#pragma once

#include "core/session/protocol/event.h"
#include "core/session/protocol/line_splitter.h"
#include "core/session/supervisor/child_process.h"

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::session {

using SteadyTime = std::chrono::steady_clock::time_point;

/// A running engine: sends lines and receives events, whatever else it prints. Memory is bounded. One thread.
class EngineProcess {
public:
    /// \throws Error (Environment)  the program cannot be started
    EngineProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                  const std::map<std::string, std::string>& environment,
                  ChildProcess::Kind kind = ChildProcess::Kind::Local);

    /// Queues one line for its standard input; never blocks.
    void send(std::string_view line);
    /// No more points: the engine seals its file and ends.
    void closeInput();
    void signal(int number) { child_.signal(number); }
    std::int64_t pid() const { return child_.pid(); }

    /// Waits until the engine writes, ends, `wake` becomes readable or `until` is reached, then passes the
    /// received events to `take`. Waits at most a tenth of a second.
    void pump(SteadyTime until, int wake, const std::function<void(Event&&)>& take);

    /// True once it has ended and all its output was passed on.
    bool ended() const { return exit_.has_value(); }
    /// How it ended.
    /// \pre  ended()
    const ExitStatus& exit() const { return *exit_; }
    /// The last lines of its standard error, joined by ` | `; empty if there are none.
    std::string lastWords() const;

private:
    void writePending();
    bool readSome(FileDescriptor& from, LineSplitter& lines,
                  const std::function<void(std::string_view)>& take);
    void takeOutput(std::string_view line, const std::function<void(Event&&)>& take);
    void takeError(std::string_view line);
    void drain(const std::function<void(Event&&)>& take);

    ChildProcess child_;
    std::string pending_; ///< not yet written to its standard input
    bool closing_ = false;
    LineSplitter outputLines_;
    LineSplitter errorLines_;
    std::deque<std::string> errorTail_;
    std::size_t garbage_ = 0;
    std::optional<ExitStatus> exit_;
};

} // namespace tilescope::session
