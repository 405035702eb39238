#include "core/exchange/import/snapshot_importer.h"

#include "core/base/plural.h"
#include "core/exchange/import/snapshot_import.h"
#include "core/exchange/tables/number.h"

#include <fmt/format.h>

namespace tilescope::exchange {

namespace {

std::string summaryOf(const ImportedSnapshot& imported)
{
    return fmt::format("{}: {}, {}, {} with {} requested, {} reserved", imported.header.name,
                       counted(static_cast<std::int64_t>(imported.trace.allocEvents.size()), "event"),
                       counted(imported.segments, "segment"), counted(imported.blocks, "block"),
                       sizeText(imported.allocated), sizeText(imported.reserved));
}

} // namespace

bool SnapshotImporter::matches(std::string_view head, const std::filesystem::path&) const
{
    // A pickle of protocol 2 or later begins with the opcode PROTO and the protocol's number.
    constexpr char kProto = '\x80';
    constexpr char kFirst = 2;
    constexpr char kLast = 5;
    return head.size() >= 2 && head[0] == kProto && head[1] >= kFirst && head[1] <= kLast;
}

std::string SnapshotImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                   const ImportWatch&) const
{
    ImportedSnapshot imported = readSnapshotFile(file, builder.strings());
    std::string summary = summaryOf(imported);
    for (EnvironmentEntry& entry : imported.environment)
        builder.addEnvironment(std::move(entry));
    builder.addMemory(std::move(imported.trace), std::move(imported.facts));
    return summary;
}

ImportResult SnapshotImporter::importAlone(const std::filesystem::path& file,
                                           const std::filesystem::path& output) const
{
    ImportedSnapshot imported;
    const RunId run = importSnapshotFile(file, output, &imported);
    return {run, summaryOf(imported)};
}

} // namespace tilescope::exchange
