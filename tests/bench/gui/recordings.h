#pragma once

#include <cstdint>
#include <filesystem>

namespace tilescope::bench {

/// Writes a sealed file of a training run on 64 lanes.
/// \param calls  of a Python stack of up to 48 frames, which lies above the other lanes
void makeRecording(const std::filesystem::path& file, std::int64_t events, std::int64_t calls = 0);

/// Writes a sealed file of one run whose events are allocations and frees, and a range for each of its steps.
void makeAllocations(const std::filesystem::path& file, std::int64_t events);

/// Writes a sealed file of eight ranks that train together, with collectives.
void makeRanks(const std::filesystem::path& file, std::int64_t events);

/// Removes a recording of an earlier measurement, and files that a killed writer left beside it.
void removeRecording(const std::filesystem::path& file);

/// Writes such a training run as it goes, `rate` events a second for `seconds`, committing ten times a
/// second; then ends the run and seals the file. Prints the number of events.
void writeLive(const std::filesystem::path& file, std::int64_t rate, int seconds);

} // namespace tilescope::bench
