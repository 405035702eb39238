#pragma once

#include "core/hosts/bundle.h"
#include "core/hosts/install.h"
#include "core/hosts/ssh_link.h"
#include "core/hosts/wire.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tilescope::hosts {

/// The connection was lost; what was asked can be asked again.
struct Lost {
    Error error;
};

/// What a connection to a host is doing.
enum class HostState {
    Connecting,
    Installing, ///< the bundle is being copied
    Ready,
    Lost, ///< and will be tried again
};

/// What is told about a host, on the thread that uses it.
struct HostWatch {
    /// \param words  why it is lost; otherwise empty
    std::function<void(HostState state, const std::string& words)> state = {};
    CopyProgress copying = {};
};

/// An answer that arrives frame by frame.
class Answer {
public:
    /// Sends a request to a `tilescope serve` of its own on the host.
    /// \param request  JSON
    Answer(const SshLink& link, const Bundle& bundle, std::string_view request);
    ~Answer();
    Answer(const Answer&) = delete;
    Answer& operator=(const Answer&) = delete;

    /// Waits for the next frame; none when `stop` is requested.
    /// \throws Lost   the connection ended
    /// \throws Error  the host's refusal, or what it sends is damaged
    std::optional<Frame> next(const std::stop_token& stop);

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Tilescope on a host: connects, copies the bundle there once, and asks its `tilescope serve`. One thread.
class RemoteHost {
public:
    static constexpr int kAttempts = 5;

    RemoteHost(Host host, HostWatch watch);
    /// A copy for use by another thread, which reports no progress.
    RemoteHost withoutProgress() const;

    const Host& host() const { return link_.host(); }

    /// Connects and installs.
    /// \throws Error, Stopped
    void prepare(std::stop_token stop);

    /// The last message of an answer, as JSON.
    /// \param request   JSON; may be sent again after a lost connection
    /// \param attempts  connections that may fail one after the other
    /// \throws Error, Stopped
    std::string ask(std::string_view request, std::stop_token stop, int attempts = kAttempts);

    /// Starts a request.
    std::unique_ptr<Answer> begin(std::string_view request) const;

    /// Calls `work`, after prepare(), until it ends without Lost. Connects again in between, after growing pauses of up to 15 s.
    /// \param attempts  connections that may fail one after the other; 0: any number
    /// \throws Error    the host has another key or accepts none, or the attempts are used up
    /// \throws Stopped
    void persistently(const std::function<void()>& work, std::stop_token stop, int attempts = 0);

private:
    void tell(HostState state, const std::string& words = {}) const;

    SshLink link_;
    HostWatch watch_;
    Bundle bundle_;
};

} // namespace tilescope::hosts
