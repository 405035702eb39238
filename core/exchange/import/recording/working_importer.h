#pragma once

#include "core/exchange/import/importer.h"

namespace tilescope::exchange {

/// Reads the working files that `tilescope record` writes while a program runs, one a process. All of one
/// recording become one run; a recording that was killed is joined by importing its folder.
class WorkingImporter final : public Importer {
public:
    std::string_view format() const override { return "working file of tilescope record"; }
    bool matches(std::string_view head, const std::filesystem::path& file) const override;
    std::string read(const std::filesystem::path& file, TraceBuilder& builder,
                     const ImportWatch& watch) const override;
};

} // namespace tilescope::exchange
