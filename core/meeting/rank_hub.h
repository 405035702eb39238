#pragma once

#include "core/base/file_descriptor.h"
#include "core/model/rank_seat.h"

#include <memory>
#include <thread>

namespace tilescope::meeting {

/// Where ranks on several hosts meet. It passes the frames of each rank on to the others of its meeting, in order, and
/// says when one has left; it tells its time. It knows nothing of collectives.
///
/// It listens on a free port. Only a process that knows the secret can join; others, and those that send what is not a frame
/// or take no frames, are disconnected. Its memory is bounded by some slots per rank and meeting. The constructor starts a
/// thread, the destructor ends it and all connections.
class RankHub {
public:
    /// \throws Error (Environment)  it cannot listen
    RankHub();
    ~RankHub();
    RankHub(const RankHub&) = delete;
    RankHub& operator=(const RankHub&) = delete;

    /// The name and the addresses of this host, the port and the secret.
    const HubAddress& address() const { return address_; }

private:
    class Traffic;

    HubAddress address_;
    FileDescriptor listener_;
    FileDescriptor end_; ///< eventfd that ends the thread
    std::unique_ptr<Traffic> traffic_;
    std::jthread thread_; ///< started last
};

} // namespace tilescope::meeting
