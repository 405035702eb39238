#include "core/exchange/import/nsys/nsys_importer.h"

#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/exchange/import/nsys/nsys_import.h"
#include "core/exchange/import/nsys/nsys_report.h"

#include <fmt/format.h>

namespace tilescope::exchange {

namespace {

/// Rows of the tables that are read, for the progress.
std::int64_t rowsToRead(const NsysFile& file)
{
    std::int64_t rows = 0;
    for (const std::string_view table :
         {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
          "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME",
          "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS"})
        rows += file.aboutRows(table);
    return rows;
}

} // namespace

bool NsysImporter::matches(std::string_view head, const std::filesystem::path& file) const
{
    return store::ForeignDatabase::isDatabase(head) && NsysFile::matches(store::ForeignDatabase(file));
}

std::string NsysImporter::read(const std::filesystem::path& path, TraceBuilder& builder,
                               const ImportWatch& watch) const
{
    const NsysFile file(path);
    ImportProgress progress(watch, path.string(), rowsToRead(file));
    const std::int64_t before = builder.kernels();
    NsysTopology topology(file, builder);
    NsysCollectives collectives;
    NsysImport import{.file = file,
                      .builder = builder,
                      .topology = topology,
                      .collectives = collectives,
                      .progress = progress};
    topology.addEnvironment();
    readNsysActivities(import);
    readNsysCalls(import);
    readNsysRanges(import);
    collectives.finish(topology, builder);
    countNsysLosses(import);
    return fmt::format("{}: {}, {}, {}", path.filename().string(),
                       counted(builder.kernels() - before - import.graphLaunches, "kernel"),
                       counted(import.ranges, "range"), counted(import.ops, "op"));
}

bool NsysReportImporter::matches(std::string_view head, const std::filesystem::path&) const
{
    // The name of a predecessor, still the first words of reports of 2026.
    return head.starts_with("NVIDIA Tegra Profiler Report");
}

std::string NsysReportImporter::read(const std::filesystem::path& file, TraceBuilder& builder,
                                     const ImportWatch& watch) const
{
    const ExportedReport exported(file, watch);
    return NsysImporter().read(exported.database(), builder, watch);
}

} // namespace tilescope::exchange
