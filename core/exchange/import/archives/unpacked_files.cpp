#include "core/exchange/import/archives/unpacked_files.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/temporary_path.h"
#include "core/exchange/import/archives/zip_file.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/import/kineto/inflated_file.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr int kMostLayers = 3;
constexpr auto kHead = static_cast<std::size_t>(Importer::kHead.count);

std::string headOf(const fs::path& file)
{
    return readInputHead(file, Importer::kHead, "trace or archive");
}

bool isArchive(std::string_view head)
{
    return isGzip(head) || ZipFile::matches(head);
}

/// Whether a beginning may be that of a file that can be read.
bool mayBeReadable(std::string_view head, const IsReadable& isReadable)
{
    constexpr std::string_view kDatabase = "SQLite format 3";
    return isArchive(head) || head.starts_with(kDatabase) || isReadable(head, {});
}

/// A file of an archive that has the name of a recording and cannot be read; empty if there is none.
std::string unreadableRecording(const ZipFile& archive)
{
    constexpr std::array<std::string_view, 7> kEndings{".json", ".gz",  ".sqlite",  ".pickle",
                                                       ".pb",   ".rpd", ".nsys-rep"};
    const auto found = std::ranges::find_if(archive.unreadable(), [&](const std::string& name) {
        return !name.starts_with("__MACOSX/") &&
               std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
    });
    return found == archive.unreadable().end() ? std::string() : *found;
}

/// The name without its last ending: x.pickle for x.pickle.gz.
std::string nameWithin(const fs::path& file)
{
    const std::string stem = file.stem().string();
    return stem.empty() ? "file" : stem;
}

void inflate(const fs::path& file, const fs::path& to)
{
    constexpr std::size_t kPiece = std::size_t{1} << 20;
    InflatedFile input(file);
    std::ofstream out(to, std::ios::binary);
    std::string piece(kPiece, '\0');
    while (const std::size_t got = input.read(piece.data(), piece.size()))
        out.write(piece.data(), static_cast<std::streamsize>(got));
    out.close();
    if (!out)
        throw Error{.what = "cannot be unpacked into the temporary folder",
                    .where = file.string(),
                    .remedy = "free space there or set TMPDIR",
                    .kind = ErrorKind::Failure};
}

/// The files of one layer, each in a folder of its own, since names within an archive may be equal.
std::vector<SourceFile> layerOf(const fs::path& file, const fs::path& named, const IsReadable& isReadable)
{
    std::vector<SourceFile> files;
    if (!ZipFile::matches(headOf(file))) {
        files.push_back({{}, named, std::make_shared<TemporaryPath>(newTemporaryFolder("unpacked"))});
        files.back().path = files.back().folder->path() / nameWithin(file);
        inflate(file, files.back().path);
        return files;
    }
    const ZipFile archive(file);
    if (const std::string unreadable = unreadableRecording(archive); !unreadable.empty())
        throw Error{.what = "is a ZIP archive in which " + fs::path(unreadable).filename().string() +
                            " is encrypted, or compressed in a way that is not read",
                    .where = named.string(),
                    .remedy = "unpack it and import the folder"};
    for (const ZipFile::Entry& entry : archive.entries()) {
        const std::string name = fs::path(entry.name).filename().string();
        if (name.empty() || name.starts_with('.') || entry.name.starts_with("__MACOSX/") ||
            !mayBeReadable(archive.head(entry, kHead), isReadable))
            continue;
        constexpr std::size_t kLongest = 120;
        files.push_back({{}, named, std::make_shared<TemporaryPath>(newTemporaryFolder("unpacked"))});
        files.back().path =
            files.back().folder->path() / name.substr(name.size() - std::min(name.size(), kLongest));
        archive.extract(entry, files.back().path);
    }
    std::ranges::sort(files, {}, [](const SourceFile& each) { return each.path.filename(); });
    return files;
}

void addUnpacked(const SourceFile& file, const IsReadable& isReadable, int layers,
                 std::vector<SourceFile>& found)
{
    const std::string head = headOf(file.path);
    if (isReadable(head, file.path))
        found.push_back(file);
    else if (isArchive(head) && layers > 0)
        for (const SourceFile& each : layerOf(file.path, file.named, isReadable))
            addUnpacked(each, isReadable, layers - 1, found);
}

} // namespace

bool holdsReadable(const fs::path& file, const IsReadable& isReadable)
{
    const std::string head = headOf(file);
    if (isGzip(head))
        return mayBeReadable(inflatedHead(head, kHead), isReadable);
    if (!ZipFile::matches(head))
        return false;
    try {
        const ZipFile archive(file);
        if (!unreadableRecording(archive).empty()) // which is said when it is read
            return true;
        return std::ranges::any_of(archive.entries(), [&](const ZipFile::Entry& entry) {
            return mayBeReadable(archive.head(entry, kHead), isReadable);
        });
    } catch (const Error&) { // that it is damaged is said when it is read
        return true;
    }
}

std::vector<SourceFile> unpacked(const fs::path& file, const IsReadable& isReadable)
{
    std::vector<SourceFile> found;
    for (const SourceFile& each : layerOf(file, file, isReadable))
        addUnpacked(each, isReadable, kMostLayers - 1, found);
    return found;
}

} // namespace tilescope::exchange
