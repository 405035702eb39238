#pragma once

#include <cstdint>
#include <filesystem>

namespace tilescope::stress {

/// Writes or imports `recordings` random runs into files, and between them merges, compacts, deletes, restores, edits and interrupts;
/// verify must find no damage after any of it.
/// \return  the exit status
int randomOrders(std::int64_t recordings, std::uint64_t seed);

/// Writes one recording with events in every table.
void writeRecording(const std::filesystem::path& file, std::uint64_t seed);

/// Changes bytes of a copy of a recording, one at a time, and prints how many of the changes verify finds. It must find
/// each after which a table holds other values than before, or cannot be read.
/// \param changes  how many random bytes; 0: the offsets are read from the standard input, and each is printed with 1
///                 if the change was found, otherwise 0
/// \return  the exit status
int byteChanges(const std::filesystem::path& recording, std::int64_t changes, std::uint64_t seed);

} // namespace tilescope::stress
