#include "core/exchange/import/importer.h"

#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/shell_word.h"
#include "core/exchange/import/archives/archive_importer.h"
#include "core/exchange/import/archives/unpacked_files.h"
#include "core/exchange/import/kineto/inflated_file.h"
#include "core/exchange/import/kineto/kineto_importer.h"
#include "core/exchange/import/nsys/nsys_importer.h"
#include "core/exchange/import/path_totals.h"
#include "core/exchange/import/recording/working_importer.h"
#include "core/exchange/import/rpd/rpd_importer.h"
#include "core/exchange/import/rules/repeated_files.h"
#include "core/exchange/import/snapshot_importer.h"
#include "core/exchange/import/unread_formats.h"
#include "core/exchange/import/xplane/xplane_importer.h"
#include "core/exchange/tables/text.h"
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
const ArchiveImporter kArchives;
constexpr auto kImporters =
    std::to_array<const Importer*>({&kSnapshots, &kKinetoTraces, &kNsysExports, &kNsysReports, &kRpd,
                                    &kXplanes, &kWorkingFiles, &kArchives});

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

/// The importer of the format that a file has itself, without being unpacked.
const Importer* readerFor(std::string_view head, const fs::path& file)
{
    for (const Importer* importer : kImporters)
        if (importer != &kArchives && importer->matches(head, file))
            return importer;
    return nullptr;
}

/// The folder with JAX's newest profile below the log folder that a program gave to jax.profiler, which has
/// plugins/profile/TIME/; empty if there is none.
fs::path newestProfile(const fs::path& folder)
{
    for (const char* within : {"plugins/profile", "profile", "."}) {
        std::error_code none;
        std::vector<fs::path> profiles;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder / within, none))
            if (entry.is_directory(none) && (std::string_view(within) != "." ||
                                             fs::absolute(folder).lexically_normal().filename() == "profile"))
                profiles.push_back(entry.path());
        if (!profiles.empty())
            return *std::ranges::max_element(profiles); // they are named by their time
    }
    return {};
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

/// A folder below a folder that holds files of a known format; empty if none of the first few has any.
fs::path folderWithFiles(const fs::path& folder)
{
    constexpr int kMostEntries = 1000;
    constexpr int kMostNested = 4;
    std::error_code none;
    int entries = 0;
    for (fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, none),
         end;
         !none && entry != end && entries < kMostEntries; entry.increment(none), ++entries) {
        if (entry.depth() >= kMostNested)
            entry.disable_recursion_pending();
        if (entry->is_regular_file(none) && !isRecording(entry->path()) && knownImporterFor(entry->path()))
            return entry->path().parent_path();
    }
    return {};
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
        if (const fs::path profile = newestProfile(folder); !profile.empty())
            return filesIn(profile);
    if (files.empty()) {
        const fs::path below = folderWithFiles(folder);
        throw Error{.what = "the folder has no file of a known format",
                    .where = folder.string(),
                    .remedy = below.empty()
                                  ? "Tilescope imports: " + formats()
                                  : "folders in it are not looked into; name the one that holds the "
                                    "recording, such as " +
                                        below.string()};
    }
    std::ranges::sort(files);
    return files;
}

/// Runs `read`. Its errors name the file: parts that do not know it say only what is wrong, or where within it.
template <class Read> auto namingFile(const SourceFile& source, const Read& read)
{
    const fs::path& file = source.named;
    try {
        return read();
    } catch (Error& error) {
        if (source.folder && error.where.starts_with(source.folder->path().string()))
            error.where = file.string() + ", " + source.path.filename().string();
        if (error.where.find(file.filename().string()) == std::string::npos)
            error.where = file.string() + (error.where.empty() ? "" : ", " + error.where);
        throw;
    }
}

/// "trace.json", or "rank0.json and 7 more".
std::string nameOf(std::span<const SourceFile> files)
{
    constexpr std::size_t kMostName = 80;
    std::string name = validUtf8(files.front().named.filename().string().substr(0, kMostName));
    if (files.size() > 1)
        name += " and " + std::to_string(files.size() - 1) + " more";
    return name;
}

/// Working files add their processes in order, and those of one host have one clock: any of them will do.
void addCounters(TraceBuilder& builder, const HostCounters& counters)
{
    for (const EnvironmentEntry& fact : counters.facts)
        builder.addEnvironment(fact);
    if (counters.metricSamplesDropped > 0)
        builder.addLoss(RecordLoss::MetricSamplesDropped, counters.metricSamplesDropped);
    if (counters.metricSamplesLost > 0)
        builder.addLoss(RecordLoss::MetricSamplesLost, counters.metricSamplesLost);
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

/// The files to read, those in archives unpacked.
std::vector<SourceFile> sourcesOf(std::span<const fs::path> files)
{
    std::vector<SourceFile> sources;
    for (const fs::path& file : files) {
        if (&importerFor(file) != &kArchives) {
            sources.push_back({file, file, nullptr});
            continue;
        }
        std::vector<SourceFile> within = unpacked(file, isReadableFile);
        if (within.empty())
            throw Error{.what = "the archive has no file of a known format",
                        .where = file.string(),
                        .remedy = "Tilescope imports: " + formats()};
        std::ranges::move(within, std::back_inserter(sources));
    }
    return sources;
}

} // namespace

bool isReadableFile(std::string_view head, const fs::path& file)
{
    return readerFor(head, file) != nullptr;
}

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
    const std::string head = readInputHead(file, Importer::kHead, "trace or snapshot");
    if (isRecording(file))
        throw Error{.what = "is a recording of Tilescope, which needs no import",
                    .where = file.string(),
                    .remedy = "copy its runs: tilescope merge " + shellPath(file) + " -o OUT.tscope",
                    .kind = ErrorKind::Usage};
    constexpr std::size_t kText = 16384;
    if (const auto why = whyNotRead(textHead(head, kText), file))
        throw *why;
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
                         const std::string& name, const HostCounters& counters, const std::string& stepsBy)
{
    if (files.empty())
        throw Error{.what = "there is no file to import", .kind = ErrorKind::Usage};
    std::vector<SourceFile> sources = sourcesOf(files);
    const std::vector<RepeatedFile> repeated = takeRepeatedFiles(sources);
    std::vector<const Importer*> importers;
    for (const SourceFile& source : sources)
        importers.push_back(&importerFor(source.path));
    if (sources.size() == 1 && importers.front() == &kSnapshots)
        return namingFile(sources.front(),
                          [&] { return kSnapshots.importAlone(sources.front().path, output); });
    // Reading takes about as long as writing.
    constexpr double kReading = 0.5;
    TraceBuilder builder;
    ImportResult result;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const double before = kReading * static_cast<double>(i) / static_cast<double>(sources.size());
        const auto watchFile = [&](double done) {
            return !watch || watch(before + kReading * done / static_cast<double>(sources.size()));
        };
        builder.beginSource(sources[i].path.filename().string(), importers[i] == &kWorkingFiles);
        result.summary += (i == 0 ? "" : "\n") + namingFile(sources[i], [&] {
                              return importers[i]->read(sources[i].path, builder, watchFile);
                          });
    }
    for (const RepeatedFile& file : repeated) {
        builder.addLoss(RecordLoss::SourceRepeated, 1, validUtf8(file.name + ", as in " + file.as));
        result.summary += "\n" + file.name + ": holds the same recording as " + file.as + "; it was left out";
    }
    addCounters(builder, counters);
    const auto watchRun = [&](double done) { return !watch || watch(kReading + (1 - kReading) * done); };
    result.run = builder.finish({.name = name.empty() ? nameOf(sources) : name,
                                 .format = std::string(importers.front()->format()),
                                 .stepsBy = stepsBy},
                                output, watchRun);
    try {
        storePathTotals(output, result.run, watchRun);
    } catch (...) {
        // The recording is whole without them.
        result.summary +=
            "\nthe critical paths could not be stored, and are found when they are asked for: " +
            currentError().sentence();
    }
    return result;
}

} // namespace tilescope::exchange
