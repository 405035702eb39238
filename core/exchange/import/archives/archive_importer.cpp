#include "core/exchange/import/archives/archive_importer.h"

#include "core/base/error.h"
#include "core/exchange/import/archives/unpacked_files.h"

namespace tilescope::exchange {

bool ArchiveImporter::matches(std::string_view, const std::filesystem::path& file) const
{
    std::error_code unknown;
    return std::filesystem::is_regular_file(file, unknown) && holdsReadable(file, isReadableFile);
}

std::string ArchiveImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                  const ImportWatch& watch) const
{
    std::string summary;
    for (const SourceFile& each : unpacked(file, isReadableFile))
        summary += (summary.empty() ? "" : "\n") + importerFor(each.path).read(each.path, builder, watch);
    return summary;
}

} // namespace tilescope::exchange
