#include "core/exchange/import/importer.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/exchange/import/snapshot_importer.h"

#include <array>

namespace tilescope::exchange {

namespace {

const SnapshotImporter kSnapshots;
constexpr std::array<const Importer*, 1> kImporters{&kSnapshots};

std::string formats()
{
    std::string names;
    for (const Importer* importer : kImporters)
        names += (names.empty() ? "" : ", ") + std::string(importer->format());
    return names;
}

} // namespace

std::span<const Importer* const> importers()
{
    return kImporters;
}

const Importer& importerFor(const std::filesystem::path& file)
{
    const std::string head = readInputHead(file, Importer::kHead, "trace or snapshot");
    for (const Importer* importer : kImporters)
        if (importer->matches(head))
            return *importer;
    throw Error{.what = "the format of this file is not known",
                .where = file.string(),
                .mend = "Tilescope imports: " + formats(),
                .kind = ErrorKind::Usage};
}

} // namespace tilescope::exchange
