#include "core/exchange/import/kineto/piece_queue.h"

namespace tilescope::exchange {

bool PieceQueue::push(JsonPiece&& piece)
{
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || pieces_.size() < kMost; });
    if (closed_)
        return false;
    pieces_.push_back(std::move(piece));
    changed_.notifyAll();
    return true;
}

std::optional<JsonPiece> PieceQueue::pop()
{
    MutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return closed_ || !pieces_.empty(); });
    if (pieces_.empty())
        return {};
    JsonPiece piece = std::move(pieces_.front());
    pieces_.pop_front();
    changed_.notifyAll();
    return piece;
}

void PieceQueue::close()
{
    const MutexLock lock(mutex_);
    closed_ = true;
    changed_.notifyAll();
}

} // namespace tilescope::exchange
