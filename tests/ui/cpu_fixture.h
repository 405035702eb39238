#pragma once

#include <filesystem>

namespace tilescope::test {

/// Writes a file with runs on a CPU: 1 naive and 2 flash are traced, 3 naive and 4 flash are not, 5 was to be
/// traced and ended in error before that.
void writeCpuFile(const std::filesystem::path& file);

} // namespace tilescope::test
