#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports what ROCm's rocmProfileData records: a SQLite database of the tables rocpd_op, rocpd_api, ….
class RpdImporter final : public Importer {
public:
    std::string_view format() const override { return "recording of rocmProfileData (.rpd)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
