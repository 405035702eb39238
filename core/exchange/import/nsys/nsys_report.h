#pragma once

#include "core/base/temporary_path.h"
#include "core/exchange/import/trace_builder.h"

#include <filesystem>

namespace tilescope::exchange {

/// The SQLite export of a report (.nsys-rep, .qdrep), written by `nsys export` into a temporary folder that
/// lives as long as this object. One thread.
class ExportedReport {
public:
    /// Runs nsys; takes minutes for large reports.
    /// \throws Error (Environment)  nsys is not on PATH
    /// \throws Error (Failure)      nsys failed; gives its last words. Or the watch cancelled.
    ExportedReport(const std::filesystem::path& report, const ImportWatch& watch);

    const std::filesystem::path& database() const { return database_; }

private:
    TemporaryPath folder_;
    std::filesystem::path database_;
};

} // namespace tilescope::exchange
