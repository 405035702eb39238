#pragma once

#include "core/base/shell_word.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope::session {

/// Command lines and scripts that run a spec without a window, for copying and saving.

/// `tilescope --batch SPEC -o FILE`
/// \param host  `--on HOST`; empty: this machine
std::string batchLine(const std::filesystem::path& spec, const std::filesystem::path& file,
                      std::string_view host = {});

/// The same with the text of the spec, as a here-document of a shell: `tilescope --batch - -o FILE <<'END_OF_SPEC'`, the
/// text and its end. Ends with a newline.
std::string batchText(std::string_view yaml, const std::filesystem::path& file, std::string_view host = {});

/// A job script for `sbatch`: packaging/slurm/array.sbatch with the array size, the spec and the output
/// folder filled in. It requires only the program.
/// \param name   name of the job, and of the spec if its text has none
/// \param yaml   the spec's text
/// \param folder folder with one file per task; OUT overrides it
/// \param tasks  shards of the sweep, at least 1
std::string slurmScript(std::string_view name, std::string_view yaml, const std::filesystem::path& folder,
                        std::int64_t tasks);

} // namespace tilescope::session
