#pragma once

#include <filesystem>

namespace tilescope::test {

/// Writes an imported file of three runs of a Python program that leaves its GPU idle most of the time, with the stacks of its
/// host: 1 is eager; in 2 the layers are compiled; 3 has no stacks. Of 2, a line of another file is costliest.
///
/// The program and a library are written to `sources`, older than the runs.
void writeWaitingFile(const std::filesystem::path& file, const std::filesystem::path& sources);

} // namespace tilescope::test
