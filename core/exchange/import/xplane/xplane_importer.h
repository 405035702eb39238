#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Imports what the profiler of JAX and XLA writes: one XSpace message of protobuf
/// (xla/tsl/profiler/protobuf/xplane.proto), read into memory.
class XplaneImporter final : public Importer {
public:
    std::string_view format() const override { return "profile of JAX (.xplane.pb)"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    /// \throws Error (Usage)  also if the file has more than 4 GiB
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
