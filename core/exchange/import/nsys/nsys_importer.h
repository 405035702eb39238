#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports what `nsys export --type sqlite` writes, of Nsight Systems 2019 and later.
class NsysImporter final : public Importer {
public:
    std::string_view format() const override { return "export of Nsight Systems (.sqlite)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

/// Imports reports of Nsight Systems, which only its own program can read: through `nsys export`, if it is
/// installed.
class NsysReportImporter final : public Importer {
public:
    std::string_view format() const override { return "report of Nsight Systems (.nsys-rep)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    /// \throws Error (Environment)  nsys is not on PATH, or cannot export the report
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
