#pragma once

#include "core/base/bounded_queue.h"
#include "core/store/rows/event_rows.h"
#include "core/store/tracks/track_writer.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

namespace tilescope::store {

/// Makes the tracks and totals of a run on a thread of its own while its events are written in start order, so that
/// the file need not be read for them.
///
/// The writer's thread calls it. A run with too few events for tracks takes no thread.
class TrackFeed {
public:
    TrackFeed(WritableFile& target, std::int64_t run);
    ~TrackFeed();
    TrackFeed(const TrackFeed&) = delete;
    TrackFeed& operator=(const TrackFeed&) = delete;

    /// Takes a row of the current batch: ranges first, then ops, calls and device events, each in start order.
    void add(EventKind kind, const std::int64_t* row);
    /// Ends the batch. The next one begins no earlier.
    void endBatch();
    /// Writes the tracks and totals. Call it last.
    /// \pre the file's appenders are flushed
    /// \throws Error
    void write();

private:
    using Rows = std::vector<EventRow>;
    static constexpr std::size_t kMostWaiting = 8; ///< blocks of rows
    static constexpr std::size_t kBlockRows = 4096;

    void start();
    void end();

    WritableFile& target_;
    const std::int64_t run_;
    Rows rows_;                  ///< not yet passed on
    std::size_t batchBegin_ = 0; ///< in rows_
    std::optional<TrackWriter> writer_;
    BoundedQueue<Rows> queue_{kMostWaiting};
    std::exception_ptr failure_; ///< of the thread; read after it ended
    std::thread thread_;         // last: it uses the others
};

} // namespace tilescope::store
