#include "core/exchange/import/importer.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/exchange/import/kineto/kineto_importer.h"
#include "core/exchange/import/nsys/nsys_importer.h"
#include "core/exchange/import/recording/working_importer.h"
#include "core/exchange/import/rpd/rpd_importer.h"
#include "core/exchange/import/snapshot_importer.h"
#include "core/exchange/import/xplane/xplane_importer.h"
#include "core/exchange/text.h"
#include "core/store/file/file_check.h"

#include <algorithm>
#include <array>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

const NsysImporter kNsysExports;
const NsysReportImporter kNsysReports;
const RpdImporter kRpd;
const SnapshotImporter kSnapshots;
const KinetoImporter kKinetoTraces;
const XplaneImporter kXplanes;
const WorkingImporter kWorkingFiles;
constexpr auto kImporters = std::to_array<const Importer*>(
    {&kSnapshots, &kKinetoTraces, &kNsysExports, &kNsysReports, &kRpd, &kXplanes, &kWorkingFiles});

std::string formats()
{
    std::string names;
    for (const Importer* importer : kImporters)
        names += (names.empty() ? "" : ", ") + std::string(importer->format());
    return names;
}

const Importer* knownImporterFor(const fs::path& file)
{
    const std::string head = readInputHead(file, Importer::kHead, "trace or snapshot");
    for (const Importer* importer : kImporters)
        if (importer->matches(head, file))
            return importer;
    return nullptr;
}

/// Looks through SQLite: closing a descriptor of a recording that this process has open would drop its locks.
bool isRecording(const fs::path& file)
{
    try {
        return store::readHeader(file).isTilescope;
    } catch (const Error&) { // empty, or not readable
        return false;
    }
}

std::vector<fs::path> filesIn(const fs::path& folder)
{
    std::error_code failure;
    const fs::directory_iterator entries(folder, failure);
    if (failure)
        throw Error{.what = "the folder cannot be read (" + failure.message() + ")",
                    .where = folder.string(),
                    .remedy = "check its permissions"};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : entries)
        if (entry.is_regular_file() && !isRecording(entry.path()) && knownImporterFor(entry.path()))
            files.push_back(entry.path());
    if (files.empty())
        throw Error{.what = "the folder has no file of a known format",
                    .where = folder.string(),
                    .remedy = "Tilescope imports: " + formats()};
    std::ranges::sort(files);
    return files;
}

/// Runs `read`. Its errors name the file: parts that do not know it say only what is wrong, or where within it.
template <class Read> auto namingFile(const fs::path& file, const Read& read)
{
    try {
        return read();
    } catch (Error& error) {
        if (error.where.find(file.filename().string()) == std::string::npos)
            error.where = file.string() + (error.where.empty() ? "" : ", " + error.where);
        throw;
    }
}

/// "trace.json", or "rank0.json and 7 more".
std::string nameOf(std::span<const fs::path> files)
{
    constexpr std::size_t kMostName = 80;
    std::string name = validUtf8(files.front().filename().string().substr(0, kMostName));
    if (files.size() > 1)
        name += " and " + std::to_string(files.size() - 1) + " more";
    return name;
}

/// Working files add their processes in order, and those of one host have one clock: any of them will do.
void addCounters(TraceBuilder& builder, const HostCounters& counters)
{
    for (const CounterTrack& read : counters.tracks) {
        CounterTrack track = read;
        if (read.device) {
            const auto number = static_cast<std::size_t>(read.device.value);
            track.device = builder.knownDevice(
                number < counters.uuids.size() ? counters.uuids[number] : std::string(), read.device.value);
            if (!track.device)
                continue;
        } else {
            track.process = builder.processWith(counters.pid);
        }
        builder.addCounter(ProcessIndex{0}, std::move(track));
    }
}

} // namespace

std::span<const Importer* const> importers()
{
    return kImporters;
}

std::vector<std::string_view> endingsOf(const Importer& importer)
{
    std::string_view rest = importer.format();
    const std::size_t open = rest.find("(.");
    if (open == std::string_view::npos)
        return {};
    rest = rest.substr(open + 1, rest.find(')', open) - open - 1);
    std::vector<std::string_view> endings;
    while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(", "), rest.size());
        endings.push_back(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 2, rest.size()));
    }
    return endings;
}

const Importer& importerFor(const fs::path& file)
{
    if (const Importer* importer = knownImporterFor(file))
        return *importer;
    throw Error{.what = "the format of this file is not known",
                .where = file.string(),
                .remedy = "Tilescope imports: " + formats(),
                .kind = ErrorKind::Usage};
}

std::vector<fs::path> importableFiles(std::span<const fs::path> named)
{
    std::vector<fs::path> files;
    for (const fs::path& path : named)
        if (std::error_code unknown; fs::is_directory(path, unknown))
            std::ranges::copy(filesIn(path), std::back_inserter(files));
        else
            files.push_back(path);
    return files;
}

ImportResult importFiles(std::span<const fs::path> files, const fs::path& output, const ImportWatch& watch,
                         const std::string& name, const HostCounters& counters)
{
    if (files.empty())
        throw Error{.what = "there is no file to import", .kind = ErrorKind::Usage};
    std::vector<const Importer*> importers;
    for (const fs::path& file : files)
        importers.push_back(&importerFor(file));
    if (files.size() == 1 && importers.front() == &kSnapshots)
        return namingFile(files.front(), [&] { return kSnapshots.importAlone(files.front(), output); });
    // Reading takes about as long as writing.
    constexpr double kReading = 0.5;
    TraceBuilder builder;
    ImportResult result;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const double before = kReading * static_cast<double>(i) / static_cast<double>(files.size());
        const auto watchFile = [&](double done) {
            return !watch || watch(before + kReading * done / static_cast<double>(files.size()));
        };
        result.summary += (i == 0 ? "" : "\n") + namingFile(files[i], [&] {
                              return importers[i]->read(files[i], builder, watchFile);
                          });
    }
    addCounters(builder, counters);
    const auto watchRun = [&](double done) { return !watch || watch(kReading + (1 - kReading) * done); };
    result.run = builder.finish(
        {.name = name.empty() ? nameOf(files) : name, .format = std::string(importers.front()->format())},
        output, watchRun);
    return result;
}

} // namespace tilescope::exchange
