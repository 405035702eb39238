#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Files in a ZIP archive, or compressed with gzip though their importer reads them uncompressed: each is read by the
/// importer of its format.
class ArchiveImporter final : public Importer {
public:
    std::string_view format() const override { return "archives of these (.zip, .gz)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
