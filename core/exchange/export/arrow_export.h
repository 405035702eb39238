#pragma once

#include "core/exchange/export/export_options.h"
#include "core/store/run_reader.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tilescope::exchange {

/// Writes a run's tables as Arrow IPC files (Feather version 2) into a folder: runs.arrow, kernels.arrow, ….
/// Tables without rows become files, too. Times are nanoseconds from the run's start, as in the file's views;
/// the unit is metadata of the column. A value that was not recorded is null.
///
/// Reads each table twice. Memory holds the distinct texts of one table and 65,536 rows.
/// \param folder  created if it does not exist; other files in it stay
/// \return        the tables in the order of writing, with their rows
/// \throws Error  the folder cannot be written
std::vector<std::pair<std::string, std::int64_t>> writeArrow(const std::filesystem::path& folder,
                                                             const store::RunReader& reader,
                                                             const store::RunRecord& run,
                                                             const ExportOptions& options = {});

} // namespace tilescope::exchange
