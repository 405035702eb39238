#pragma once

#include "core/exchange/import/pickle_reader.h"
#include "core/exchange/import/snapshot_frames.h"
#include "core/model/code_place.h"
#include "core/model/events.h"
#include "core/model/memory.h"
#include "core/model/strings.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// The file name that an exported stack has in its outermost frame. The frames of such a stack are an op and
/// ranges, with the enclosing path as file and line 0, and after each range the function that opened it, if
/// known.
inline constexpr std::string_view kOwnFrames = "tilescope";

/// The stacks of a snapshot: each distinct one becomes a path and an op.
class SnapshotStacks {
public:
    struct Stack {
        StringId path = {};
        OpId op = {};
        // Of memory that was there before our trace, which has a holder instead of a stack.
        std::optional<MemoryCategory> category = {};
        std::string holder = {};
    };

    /// \param ops  where each stack's op is appended
    SnapshotStacks(const PickleDocument& document, StringTable& strings, std::vector<Op>& ops);

    /// The path of a list of frames, the innermost first; none if it is not a list or is empty.
    /// \throws Error  the stacks have more text than any snapshot
    const Stack& of(const PickleValue& frames);
    /// The places where ranges were opened, by path, according to the exported stacks so far.
    std::vector<CodePlace> places() const;

private:
    Stack read(const PickleValue& frames);
    void notePlaces(const std::vector<SnapshotFrame>& frames);
    const SnapshotFrame& frame(const PickleValue& value);
    OpId opOf(StringId path, std::string_view name);

    const PickleDocument& document_;
    StringTable& strings_;
    std::vector<Op>& ops_;
    std::unordered_map<std::uint64_t, Stack> byList_;                         // by container
    std::unordered_map<std::uint64_t, SnapshotFrame> frames_;                 // likewise
    std::unordered_map<StringId, std::unordered_map<StringId, OpId>> byPath_; // by path and name
    std::map<std::string, CodePlace> places_;                                 // by path
    std::size_t textBytes_ = 0;
    Stack none_;
};

} // namespace tilescope::exchange
