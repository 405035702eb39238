#pragma once

#include "core/base/ids.h"
#include "core/exchange/import/rules/rules.h"
#include "core/model/strings.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilescope::exchange {

/// Makes the paths of an imported run as those of Tilescope's own: components joined by `/`, `step` on top, and
/// backward work under `step/backward/` with the path of its forward op.
class PathMaker {
public:
    PathMaker(StringTable& strings, RuleWork& work);

    /// `step` within a step, otherwise none.
    StringId ofStep(std::int32_t step) const;
    /// The path of a range of this name within another path. A `/` of the name becomes U+2215, which looks alike.
    /// Rule "paths": the parent's path if the texts of all paths would exceed their limit.
    StringId child(StringId parent, StringId name);

    /// Remembers the path of a forward op for its backward node.
    /// \param sequence  autograd's number, which both have; negative: none
    void noteForward(ProcessIndex process, std::int64_t sequence, StringId path);
    /// `step/backward/layers.3` for the backward of step/forward/layers.3; `step/backward` if the forward op is
    /// not known.
    StringId ofBackward(ProcessIndex process, std::int64_t sequence);
    /// Ranges that have the path of the range around them.
    std::int64_t shortened() const { return shortened_; }

private:
    bool mayAdd(std::size_t bytes);
    static std::uint64_t keyOf(ProcessIndex process, std::int64_t sequence);

    StringTable& strings_;
    RuleWork& work_;
    std::int64_t left_ = kPathBytes; ///< bytes that paths may still take
    std::int64_t shortened_ = 0;
    std::vector<bool> isNamed_; ///< names of ranges, by id
    StringId step_;
    StringId backward_;
    std::unordered_map<std::uint64_t, StringId> children_;  ///< by parent and name
    std::unordered_map<std::uint64_t, StringId> forwards_;  ///< by process and sequence number
    std::unordered_map<std::uint32_t, StringId> backwards_; ///< by forward path
};

} // namespace tilescope::exchange
