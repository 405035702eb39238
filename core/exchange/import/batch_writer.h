#pragma once

#include "core/base/bounded_queue.h"
#include "core/model/events.h"

#include <atomic>
#include <exception>
#include <thread>

namespace tilescope::store {
class RunWriter;
}

namespace tilescope::exchange {

/// Writes the events of an import on a separate thread, in the order of write(), while the next batch is assembled.
///
/// Between the constructor and finish() or the destructor, nobody else may use the RunWriter. One thread.
class BatchWriter {
public:
    explicit BatchWriter(store::RunWriter& writer);
    /// Drops the batches that are not written yet.
    ~BatchWriter();
    BatchWriter(const BatchWriter&) = delete;
    BatchWriter& operator=(const BatchWriter&) = delete;

    /// Queues a batch; waits while several batches are queued.
    /// \throws Error  an earlier batch could not be written
    void write(TraceBatch&& batch);
    /// Waits until all batches are written. Call it last.
    /// \throws Error  something could not be written
    void finish();

private:
    static constexpr std::size_t kMostWaiting = 4;

    BoundedQueue<TraceBatch> batches_{kMostWaiting};
    std::exception_ptr failure_; ///< of the thread; read after it ended
    std::atomic<bool> dropped_ = false;
    std::thread thread_; // last: it uses the others
};

} // namespace tilescope::exchange
