#pragma once

#include "core/base/shell_word.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tilescope::session {

/// Command lines and scripts that run a spec without a window; what is copied and saved for people.

/// `tilescope --batch SPEC -o FILE`
std::string batchLine(const std::filesystem::path& spec, const std::filesystem::path& file);

/// A job script for `sbatch`: packaging/slurm/array.sbatch with the array's size, the spec itself and the
/// folder of the results written in, so that it needs nothing beside it but the program.
/// \param name   of the spec where its text gives none, and of the job
/// \param yaml   the spec, as it was written
/// \param folder of one file a task; OUT overrides it
/// \param tasks  shards of the sweep; 1 up
std::string slurmScript(std::string_view name, std::string_view yaml, const std::filesystem::path& folder,
                        std::int64_t tasks);

} // namespace tilescope::session
