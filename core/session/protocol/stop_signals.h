#pragma once

#include "core/base/file_descriptor.h"

#include <initializer_list>
#include <stop_token>
#include <thread>

namespace tilescope::session {

/// Turns signals into stop tokens: the first signal requests `first`, the second `second`; later ones have no
/// effect.
///
/// Create it in main before any other thread, so that all threads inherit the blocked signals; a separate
/// thread receives them. A signal that was ignored when the program started (nohup) stays ignored. The
/// destructor ends the thread.
class StopSignals {
public:
    explicit StopSignals(std::initializer_list<int> signals);
    ~StopSignals();
    StopSignals(const StopSignals&) = delete;
    StopSignals& operator=(const StopSignals&) = delete;

    std::stop_token first() const { return first_.get_token(); }
    std::stop_token second() const { return second_.get_token(); }

private:
    void take();

    std::stop_source first_;
    std::stop_source second_;
    FileDescriptor signals_; ///< signalfd
    FileDescriptor end_;     ///< eventfd that ends the thread
    std::jthread thread_;
};

} // namespace tilescope::session
