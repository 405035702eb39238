#pragma once

#include "core/base/ids.h"

#include <filesystem>
#include <string>

namespace tilescope::cli {

/// Writes the tables of a run as Arrow IPC files (Feather version 2), by the Python package and PyArrow: a file for each
/// table, with the columns of the package.
///
/// The Python is that of TILESCOPE_PYTHON, otherwise python3.
/// \param folder        exists
/// \param withIdentity  whether to write host names, command lines and home folders
/// \return              the tables with their numbers of rows: "runs: 1, kernels: 800"
/// \throws Error        (Environment) there is no Python with PyArrow; (Failure) a file cannot be written
std::string writeArrow(const std::filesystem::path& folder, const std::filesystem::path& file, RunId run,
                       bool withIdentity);

} // namespace tilescope::cli
