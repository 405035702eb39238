#pragma once

#include "app/cli/signal_forwarder.h"
#include "core/record/options.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tilescope::cli {

/// A program that runs in the foreground in place of this one: it has the terminal, and signals to this process
/// are passed on to it. One thread.
class RecordedProgram {
public:
    explicit RecordedProgram(std::vector<std::string> command) : command_(std::move(command)) {}

    /// Sets a variable of its environment.
    void set(std::string name, std::string value)
    {
        variables_.emplace_back(std::move(name), std::move(value));
    }

    /// Sets an option of the recording that its processes read.
    void setOption(std::string_view name, std::string_view value)
    {
        options_ = record::withOption(std::move(options_), name, value);
    }

    /// Starts it and waits for its end.
    /// \param started  called with its number once it exists
    /// \throws Error (Usage)  it cannot be started
    void run(const std::function<void(pid_t)>& started = {});

    /// How it ended, as waitpid() tells it.
    int status() const { return status_; }
    /// Its exit code. If a signal ended it, the same signal ends this process.
    int pass() const;

private:
    std::vector<std::string> command_;
    std::vector<std::pair<std::string, std::string>> variables_;
    std::unique_ptr<const SignalForwarder>
        forwarder_; ///< what is passed on does not end this process, also after the program
    std::string options_;
    int status_ = 0;
};

/// This host's name and what its steady clock lacks to the wall clock, in nanoseconds: "node7:1700000000000".
/// One value for all processes of a host keeps them on one clock.
std::string hostClock();

} // namespace tilescope::cli
