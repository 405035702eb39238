#pragma once

#include <functional>
#include <utility>

namespace tilescope::engine {

/// A collective that a rank has started. Its tensors must not be used before wait(), which must be called once.
class [[nodiscard]] Started {
public:
    Started() = default; ///< a collective that has already ended
    explicit Started(std::function<void()> wait) : wait_(std::move(wait)) {}

    /// Makes work that the calling thread queues on its current stream from now on wait for the collective.
    /// On a CPU, returns when the collective has ended.
    /// \throws LostRank
    void wait()
    {
        if (const auto wait = std::exchange(wait_, nullptr))
            wait();
    }

private:
    std::function<void()> wait_; ///< keeps the tensors alive
};

} // namespace tilescope::engine
