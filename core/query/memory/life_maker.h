#pragma once

#include "core/query/memory/memory_history.h"

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilescope::query {

/// Makes the blocks of a history from the records of its run. Texts go into the history.
/// One thread at a time; valid as long as the reader and the history.
class LifeMaker {
public:
    /// \pre history.run and history.origin are set
    LifeMaker(const store::RunReader& reader, MemoryHistory& history) : reader_(reader), history_(history) {}

    /// Reads the names and shapes of the ops of the allocations among `events`. O(ops of the run).
    void readOps(std::span<const AllocEvent> events);
    /// \return  a block without an end
    MemoryLife of(const AllocEvent& allocation);
    /// A block from before the trace.
    MemoryLife of(const MemoryBlock& older);

private:
    std::uint32_t textIndex(std::string_view text);
    std::uint32_t textIndex(StringId id);
    /// The tensor that a range of set-up makes.
    std::uint32_t nameOf(StringId path);
    MemoryCategory categoryOf(StringId id);

    const store::RunReader& reader_;
    MemoryHistory& history_;
    std::unordered_map<std::string, std::uint32_t> byText_;
    std::unordered_map<StringId, std::uint32_t> byId_;
    std::unordered_map<StringId, MemoryCategory> categories_;
    std::unordered_map<StringId, std::uint32_t> made_; ///< names, by path
    struct NamedOp {
        OpId id = {};
        std::uint32_t name = 0;
        std::uint32_t shapes = 0;
    };
    std::vector<NamedOp> ops_; ///< by id
};

} // namespace tilescope::query
