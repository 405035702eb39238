#pragma once

#include <filesystem>

namespace tilescope::test {

/// Writes a file with runs on a CPU: 1 naive and 2 flash are traced, 3 naive and 4 flash are not, 5 was to be
/// traced and ended in error before that.
void writeCpuFile(const std::filesystem::path& file);

/// Writes a file with runs on a CPU that did not all end well: 1 is traced and ok; 2 timed out after its samples and
/// 3 before the first one; 4 was cancelled during its samples, 5 skipped; the writer of 6 died.
void writeFailedFile(const std::filesystem::path& file);

} // namespace tilescope::test
