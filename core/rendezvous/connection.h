#pragma once

#include "core/base/file_descriptor.h"
#include "core/model/rank_info.h"
#include "core/rendezvous/frame.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace tilescope::rendezvous {

/// A connection from a rank to the hub. The hub has proved that it knows the secret. One thread; only
/// shutDown() may be called from any thread.
class Connection {
public:
    /// Tries the hosts of the address in order.
    /// \throws Error (Environment)  the hub cannot be reached
    explicit Connection(const HubAddress& hub);

    /// Sends a frame whose `bytes` are `content`.
    /// \return  false if the connection has ended
    bool send(Frame frame, std::span<const std::byte> content = {});
    /// Waits for the header of the next frame; the caller must then receive its bytes.
    /// \return  none if no header came within `most`, or the connection has ended
    std::optional<Frame> receive(std::chrono::milliseconds most);
    /// \return  false if the connection has ended
    bool receiveBytes(std::span<std::byte> content);
    /// Whether the connection has ended or the hub has sent something other than a frame.
    bool hasEnded() const { return hasEnded_; }
    /// Ends the connection once all sent data has arrived; later calls of other members fail.
    void shutDown();

private:
    bool sendAll(std::span<const std::byte> bytes);

    FileDescriptor socket_;
    bool hasEnded_ = false;
};

/// Sets the options of a socket between rank and hub: no delay of small frames, and detection of a dead host.
void setUp(const FileDescriptor& socket);

} // namespace tilescope::rendezvous
