#pragma once

#include <string>
#include <string_view>

namespace tilescope::ui {

/// A short title for a recorded program or an imported trace, from its name: the command line, or the name of the file.
///
/// Of a command line, the script or module with its options, without folders, interpreters, launchers and their options:
/// `env A=1 torchrun --nproc-per-node 2 src/train.py --lr 1` is "train.py --lr 1". Of a file, the name without the suffixes of
/// traces: `step.pt.trace.json.gz` is "step", `rank0.json and 7 more` is "rank0 +7". A name that is neither stays as it
/// is. Any thread.
std::string programTitle(std::string_view name);

} // namespace tilescope::ui
