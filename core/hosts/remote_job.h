#pragma once

#include "core/hosts/remote_host.h"

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// Work for a host.
struct JobRequest {
    enum class Kind {
        Sweep,  ///< points, one a line, run as a local sweep would; its output is events
        Record, ///< `tilescope record` with these arguments
        Command ///< `tilescope` with these arguments
    } kind = Kind::Command;
    std::vector<std::string> arguments = {};
    std::string cwd = {};    ///< folder there; empty: the home folder
    std::string points = {}; ///< lines of a sweep
    std::int64_t count = 1;  ///< its points
    int gpus = 1;            ///< that one point uses
    std::string label = {};  ///< for people
    std::string output = {}; ///< the local file that the result is for
    std::string id = {};     ///< of RemoteJob::newId(); empty: a new one
};

/// How work ended there.
struct JobEnd {
    int code = 0;             ///< exit code
    int signal = 0;           ///< the signal that ended it; 0: none
    bool hasResult = false;   ///< there is a recording
    std::string failure = {}; ///< why it did not start or has no end; empty: it ended by itself
    std::string remedy = {};  ///< of the failure; may be empty

    int exitCode() const; ///< as of a shell: 128 and the signal
};

/// Output of the work, in order and each byte once, whatever the connection did.
struct JobOutput {
    std::function<void(std::string_view)> out = {};
    std::function<void(std::string_view)> errors = {};
    /// Slurm's number of a job, and its state with the reason: `PENDING Priority`, `RUNNING 2 of 16 tasks`.
    std::function<void(const std::string& number, const std::string& state)> queue = {};
};

/// What a user may want of work that is followed. Each is passed on once the host can be reached.
struct FollowStops {
    std::stop_token pause = {};  ///< a sweep ends after its point
    std::stop_token cancel = {}; ///< the work is interrupted (SIGINT) and followed to its end
    std::stop_token again = {};  ///< it is interrupted again, or left if the host cannot be reached
    std::stop_token leave = {};  ///< it is left at once and goes on
};

/// A piece of work in the list of a host.
struct JobEntry {
    std::string id;
    std::string kind;
    std::string label;
    std::string output; ///< the local file that its result is for
    std::int64_t startedUnixNs = 0;
    std::string state; ///< running, ended, died
};

/// Work on a host that goes on when the connection ends. One thread.
class RemoteJob {
public:
    /// A piece of work that was started earlier.
    RemoteJob(RemoteHost& host, std::string id) : host_(&host), id_(std::move(id)) {}

    /// A name for new work.
    static std::string newId();
    /// Starts work; after a lost connection it is not started twice.
    /// \throws Error, Stopped
    static RemoteJob start(RemoteHost& host, const JobRequest& request, std::stop_token stop);

    const std::string& id() const { return id_; }

    /// Follows the work until it ends; connects again whenever the connection is lost.
    /// \throws Stopped  it was left and goes on
    /// \throws Error    the host cannot be used any more
    JobEnd follow(const JobOutput& output, const FollowStops& stops);

    /// A recording that the work has begun to write, and what changes when it grows.
    struct Result {
        std::string name;
        std::string stamp;
    };
    /// \param attempts  see RemoteHost::ask()
    std::vector<Result> results(std::stop_token stop, int attempts = RemoteHost::kAttempts) const;

    /// The points of a sweep, as JobRequest::points.
    std::string points(std::stop_token stop) const;

    /// Removes it there, once its result is safe.
    void remove(std::stop_token stop);

    static std::vector<JobEntry> list(RemoteHost& host, std::stop_token stop);

private:
    void signal(const char* name, const std::stop_token& stop);
    void advance(const Frame& frame, const JobOutput& output);

    RemoteHost* host_; ///< outlives it
    std::string id_;
    std::int64_t out_ = 0;
    std::int64_t errors_ = 0;
};

} // namespace tilescope::hosts
