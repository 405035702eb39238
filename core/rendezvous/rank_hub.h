#pragma once

#include "core/base/file_descriptor.h"
#include "core/model/rank_info.h"

#include <memory>
#include <thread>

namespace tilescope::rendezvous {

/// Connects ranks on several hosts. Forwards the frames of each rank to the other ranks of its group, in order,
/// notifies them when a rank has left, and answers questions for its time. It has no knowledge of collectives.
///
/// Listens on a free port. Only a process that knows the secret can join. Disconnects other processes, and
/// those that send something other than frames or do not receive frames. Memory is bounded by a few slots per
/// rank and group. The constructor starts a thread; the destructor ends it and all connections.
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

} // namespace tilescope::rendezvous
