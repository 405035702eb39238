#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports what torch.cuda.memory._dump_snapshot writes (snapshot_import.h).
class SnapshotImporter final : public Importer {
public:
    std::string_view format() const override { return "memory snapshot of PyTorch (.pickle)"; }
    bool matches(std::string_view head) const override;
    ImportResult run(const std::filesystem::path& file, const std::filesystem::path& output) const override;
};

} // namespace tilescope::exchange
