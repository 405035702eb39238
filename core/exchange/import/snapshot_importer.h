#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports what torch.cuda.memory._dump_snapshot writes (snapshot_import.h).
class SnapshotImporter final : public Importer {
public:
    std::string_view format() const override { return "memory snapshot of PyTorch (.pickle)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
    /// A snapshot without a trace, as a run of its own kind.
    ImportResult importAlone(const std::filesystem::path& file, const std::filesystem::path& output) const;
};

} // namespace tilescope::exchange
