#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports traces of PyTorch's profiler (Kineto) and other Chrome traces in JSON, plain or compressed with
/// gzip, of any size: the file is read in pieces, by a thread of its own.
class KinetoImporter final : public Importer {
public:
    std::string_view format() const override { return "trace of PyTorch's profiler (.json, .json.gz)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
