#pragma once

#include <cstdint>
#include <string>

namespace tilescope {

/// Where in the program's own code the range of a path was opened.
///
/// Of a backward path (step/backward/layers.3) it is where the forward's range was: autograd runs its ops,
/// and what a reader of a stack looks for is the module that made them.
struct CodePlace {
    std::string path = {};     ///< step/forward/layers.3/ffn
    std::string file = {};     ///< within the source tree: core/engine/lm/lm.cpp
    std::int64_t line = 0;     ///< from 1
    std::string function = {}; ///< tilescope::engine::LanguageModel::feedForward

    bool operator==(const CodePlace&) const = default;
};

} // namespace tilescope
