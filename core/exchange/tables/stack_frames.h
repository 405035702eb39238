#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

// Imported stacks are paths of ranges: a component is `file:line:function`, the outermost first. A slash in a name would
// separate components, so it is replaced by analysis::kFolderSlash.

struct SnapshotFrame {
    std::string name;
    std::string file;
    std::int64_t line = 0;
};

/// The frames of a path, the innermost first. A component in another format becomes a frame's name.
std::vector<SnapshotFrame> framesOf(std::string_view path);

/// A stack in the order in which it is read.
struct ReadableStack {
    std::vector<SnapshotFrame> frames =
        {};              ///< the program's own, then those of libraries; each innermost first
    std::size_t own = 0; ///< number of the program's own frames
};

/// The frames of a path, the program's own first (analysis::isLibraryFrame). Empty if no frame has a file: a
/// path of ranges.
ReadableStack userFramesFirst(std::string_view path);

/// `torch/nn/modules/linear.py:134 forward`; a frame without a file is its name.
std::string shownFrame(const SnapshotFrame& frame);

/// A stack in few words: the innermost frame of the program's own code, then that of all, without folders:
/// `train.py:24 forward → linear.py:134 forward`. Empty if the path is one of ranges.
std::string stackName(std::string_view path);

/// The frames of userFramesFirst() in one line: `model.py:24 forward < train.py:97 <module>; library:
/// torch/nn/modules/linear.py:134 forward`. A path of ranges is returned as it is.
std::string stackLine(std::string_view path);

} // namespace tilescope::exchange
