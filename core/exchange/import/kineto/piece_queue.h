#pragma once

#include "core/base/mutex.h"
#include "core/exchange/import/kineto/json_splitter.h"

#include <cstddef>
#include <deque>
#include <optional>

namespace tilescope::exchange {

/// Hands pieces of a trace from the thread that reads the file to the one that parses them. Holds few, so
/// that a fast reader waits. Either side may close it, which ends both.
class PieceQueue {
public:
    /// Waits for room. False if the queue is closed; the piece is dropped then.
    bool push(JsonPiece&& piece);
    /// Waits for a piece. None if the queue is closed and empty.
    std::optional<JsonPiece> pop();
    void close();

private:
    static constexpr std::size_t kMost = 3;

    Mutex mutex_;
    Condition changed_;
    std::deque<JsonPiece> pieces_ GUARDED_BY(mutex_);
    bool closed_ GUARDED_BY(mutex_) = false;
};

} // namespace tilescope::exchange
