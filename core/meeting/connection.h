#pragma once

#include "core/base/file_descriptor.h"
#include "core/meeting/frame.h"
#include "core/model/rank_seat.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace tilescope::meeting {

/// A connection from a rank to the hub, which has proved that it knows the secret. One thread; only shutDown() may be
/// called from any thread.
class Connection {
public:
    /// Tries the hosts of the address in order.
    /// \throws Error (Environment)  the hub cannot be reached
    explicit Connection(const HubAddress& hub);

    /// Sends a frame whose `bytes` are `content`.
    /// \return  false if the connection has ended
    bool send(Frame frame, std::span<const std::byte> content = {});
    /// Waits for the header of the next frame; the caller receives its bytes next.
    /// \return  none if none came in that time, or the connection has ended
    std::optional<Frame> receive(std::chrono::milliseconds most);
    /// \return  false if the connection has ended
    bool receiveBytes(std::span<std::byte> content);
    /// The connection has ended, or the hub has sent what is not a frame.
    bool hasEnded() const { return hasEnded_; }
    /// Ends the connection once what was sent has arrived; later calls of the others fail.
    void shutDown();

private:
    bool sendAll(std::span<const std::byte> bytes);

    FileDescriptor socket_;
    bool hasEnded_ = false;
};

/// Sets what all sockets between ranks and hub need: no delay of small frames, and the death of the other host is noticed.
void setUp(const FileDescriptor& socket);

} // namespace tilescope::meeting
