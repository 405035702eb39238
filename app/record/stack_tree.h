#pragma once

#include "core/record/working_file.h"
#include "core/trace/host/host_record.h"

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilescope::record {

/// Numbers the stacks of a recording: each is a call and the stack of its caller. One thread.
class StackTree {
public:
    using Frame = trace::HostRecord::StackBody::Frame;

    /// \param most  stacks that are numbered: a program that makes code without end takes about 64 MiB
    explicit StackTree(std::size_t most = std::size_t{1} << 20) : most_(most) {}

    /// The stack of a call; that of its caller if there are too many.
    /// \param caller  kNoString: the call is outermost
    std::uint32_t child(std::uint32_t caller, const Frame& frame);
    /// The stacks that were numbered since the last call.
    /// \param stringOf  the string in the file of a name (PathNode::id)
    std::vector<StackRow> takeNew(const std::function<std::uint32_t(std::uint32_t)>& stringOf);

    /// Calls that got the stack of their caller so far.
    std::uint64_t merged() const { return merged_; }

private:
    struct Key {
        std::uint64_t call;
        std::uint32_t caller;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept
        {
            return (key.call ^ static_cast<std::uint64_t>(key.caller) << 17) * 0x9e3779b97f4a7c15ULL >> 20;
        }
    };
    const std::size_t most_;
    std::unordered_map<Key, std::uint32_t, KeyHash> numbers_;
    std::vector<std::pair<std::uint32_t, Frame>> new_; ///< caller and call
    std::uint64_t merged_ = 0;
};

/// The stack of a thread, as records tell it piece by piece.
class ToldStack {
public:
    void apply(StackTree& tree, const trace::HostRecord::StackBody& change);
    std::uint32_t number() const { return calls_.empty() ? kNoString : calls_.back(); }

private:
    std::vector<std::uint32_t> calls_; ///< outermost first
};

} // namespace tilescope::record
