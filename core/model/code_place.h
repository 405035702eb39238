#pragma once

#include <cstdint>
#include <string>

namespace tilescope {

/// The place in the program's code that opened the range of a path.
///
/// A backward path (step/backward/layers.3) has the place of the forward range, because autograd runs its ops
/// and the module that created them is of interest.
struct CodePlace {
    std::string path = {};     ///< step/forward/layers.3/ffn
    std::string file = {};     ///< within the source tree: core/engine/lm/lm.cpp
    std::int64_t line = 0;     ///< from 1
    std::string function = {}; ///< tilescope::engine::LanguageModel::feedForward

    bool operator==(const CodePlace&) const = default;
};

} // namespace tilescope
