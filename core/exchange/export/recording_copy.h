#pragma once

#include <filesystem>
#include <span>

namespace tilescope::exchange {

/// Copies what a recording holds at this moment, even while it is written, to a new file, completely or not at all.
/// \param inputs          files that the copy may not replace, beside the recording
/// \throws Error (Usage)  `copy` is one of the inputs, is open for writing or is not a file
/// \throws Error          the recording is damaged, or the copy cannot be written
void copyRecording(const std::filesystem::path& recording, const std::filesystem::path& copy,
                   std::span<const std::filesystem::path> inputs = {});

} // namespace tilescope::exchange
