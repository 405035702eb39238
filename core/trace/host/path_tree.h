#pragma once

#include "core/base/mutex.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tilescope::trace {

/// One path of ranges (`step/forward/layers.3`), kept for the life of the process.
struct PathNode {
    std::uint32_t id = 0;
    const PathNode* parent = nullptr; ///< none at a root
    std::string component;            ///< last component; NVTX shows it as a C string
    std::string path;                 ///< components joined by `/`
    /// The backward path of this path's ops (see PathTree::backward); null until first requested.
    mutable std::atomic<const PathNode*> backwardTwin{nullptr};

    /// Where a range of this path, or the forward of this backward one, was opened last; line 0: none was.
    /// As wide as a pointer: any thread reads and writes it while ranges are opened.
    mutable std::atomic<std::source_location> opened{};

    void noteOpened(std::source_location where) const noexcept
    {
        opened.store(where, std::memory_order_relaxed);
    }
    bool isRoot() const { return !parent && id == 0; }
};

/// Paths and names seen by this process. Any thread may call any member; it takes a lock, so threads that
/// record keep a PathCache.
class PathTree {
public:
    /// The process' own, never destroyed: ranges may close while statics are torn down.
    static PathTree& instance();

    /// \param most  paths and names that are kept apart. Later ones lose the number at their end, as a name with a
    ///              changing number would make the tree grow without limit, and share the node of what is left;
    ///              where that does not suffice they take the node of their parent.
    explicit PathTree(std::size_t most = 1 << 16);

    const PathNode* root() const { return root_; }
    /// Parent of plain names (ops, NVTX names), which therefore need no separate table.
    const PathNode* names() const { return names_; }

    /// The node of `component` under `parent`; the component `step` always starts a new path.
    const PathNode* child(const PathNode* parent, std::string_view component);

    /// The backward path of ops created under `forward`: step/forward/layers.3 gives step/backward/layers.3,
    /// step/loss gives step/backward/loss, and paths under step/backward (a recomputed forward) stay. Null
    /// for paths outside a phase of a step.
    const PathNode* backward(const PathNode* forward);

    /// The result of an earlier call of backward(), otherwise null. Neither locks nor allocates.
    static const PathNode* knownBackward(const PathNode* forward) noexcept;

    /// The node with this id.
    const PathNode* node(std::uint32_t id) const;
    /// The number of requests for names without a node of their own.
    std::uint64_t merged() const noexcept { return merged_.load(std::memory_order_relaxed); }
    Mutex& forkMutex() { return mutex_; }

private:
    const PathNode* childLocked(const PathNode* parent, std::string_view component) REQUIRES(mutex_);
    const PathNode* addLocked(const PathNode* parent, std::string_view component) REQUIRES(mutex_);
    const PathNode* mergedLocked(const PathNode* parent, std::string_view component) REQUIRES(mutex_);
    const PathNode* backwardLocked(const PathNode* forward) REQUIRES(mutex_);

    struct Key {
        const PathNode* parent;
        std::string_view component;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept;
    };

    const std::size_t most_;
    std::atomic<std::uint64_t> merged_{0};
    mutable Mutex mutex_;
    // A deque, so that addresses of nodes do not change.
    std::deque<PathNode> nodes_ GUARDED_BY(mutex_);
    std::unordered_map<Key, const PathNode*, KeyHash> children_ GUARDED_BY(mutex_);
    // Set by the constructor.
    const PathNode* root_ = nullptr;
    const PathNode* names_ = nullptr;
    const PathNode* step_ = nullptr;
    const PathNode* stepForward_ = nullptr;
    const PathNode* stepBackward_ = nullptr;
};

/// A per-thread cache of PathTree::child: no lock and no allocation for known components.
class PathCache {
public:
    const PathNode* child(const PathNode* parent, std::string_view component)
    {
        const std::size_t slot = hash(parent, component) & (kSlots - 1);
        Entry& entry = entries_[slot];
        if (entry.parent == parent && entry.node && entry.node->component == component)
            return entry.node;
        entry = {parent, PathTree::instance().child(parent, component)};
        return entry.node;
    }
    static std::size_t hash(const PathNode* parent, std::string_view component) noexcept;

private:
    static constexpr std::size_t kSlots = 1024;
    struct Entry {
        const PathNode* parent = nullptr;
        const PathNode* node = nullptr;
    };
    std::array<Entry, kSlots> entries_{};
};

} // namespace tilescope::trace
