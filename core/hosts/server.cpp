#include "core/hosts/server.h"

#include "core/base/current_error.h"
#include "core/base/environment_variable.h"
#include "core/base/file_descriptor.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/base/sha256.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"
#include "core/base/temporary_path.h"
#include "core/base/version.h"
#include "core/hosts/folder_changes.h"
#include "core/hosts/job_folder.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/remote_file.h"
#include "core/hosts/remote_folder.h"
#include "core/hosts/slurm.h"
#include "core/hosts/wire.h"
#include "core/hosts/working_parts.h"
#include "core/record/process_end.h"
#include "core/record/process_identity.h"
#include "core/record/working_file.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// The client went away.
struct Gone {};

/// A path there: relative to the home folder, and so is `~/`.
fs::path placeOf(std::string path)
{
    if (path.starts_with('-'))
        throw Error{.what = "begins with a dash, like an option", .where = path, .remedy = "write ./" + path};
    const fs::path home = environmentVariable("HOME");
    if (path == "~" || path.starts_with("~/"))
        path.erase(0, 2);
    return fs::path(path).is_absolute() ? fs::path(path) : home / path;
}

/// When a file changed; 0 if that is not known.
std::int64_t unixTime(const fs::path& file)
{
    struct stat facts {};
    constexpr std::int64_t kNs = 1'000'000'000;
    return stat(file.c_str(), &facts) == 0 ? facts.st_mtim.tv_sec * kNs + facts.st_mtim.tv_nsec : 0;
}

class Server {
public:
    Server(int input, int output, const FindGrowing& findGrowing)
        : input_(input), output_(output), findGrowing_(findGrowing)
    {
    }

    void answer(const Json& request);
    void send(FrameType type, std::string_view body) const { write(framed(type, body)); }
    void send(const Json& message) const
    {
        send(FrameType::Message, message.dump(-1, ' ', false, Json::error_handler_t::replace));
    }

private:
    void write(std::string_view bytes) const;
    void list(const Json& request) const;
    Json described(const fs::directory_entry& entry) const;
    void fetch(const Json& request) const;
    /// \param isGrowing  told to the client
    void sendPieces(const fs::path& file, const Json& request, bool isGrowing) const;
    void start(const Json& request) const;
    void follow(const Json& request) const;
    void signal(const Json& request) const;
    void listJobs() const;
    void listResults(const Json& request) const;
    void sendPoints(const Json& request) const;
    void remove(const Json& request) const;
    void sendPiece(std::uint64_t number, std::string_view bytes) const;
    /// Sends what a file gained; the new offset.
    std::int64_t sendNew(const fs::path& file, std::int64_t from, FrameType type) const;

    int input_;
    int output_;
    const FindGrowing& findGrowing_;
};

void Server::write(std::string_view bytes) const
{
    while (!bytes.empty()) {
        const ssize_t count = ::write(output_, bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR)
            throw Gone{};
        bytes.remove_prefix(std::size_t(std::max<ssize_t>(count, 0)));
    }
}

void Server::answer(const Json& request)
{
    const std::string op = textIn(request, "op");
    if (op == "hello")
        send({{"end", true}, {"version", version()}, {"program", executablePath().string()}});
    else if (op == "list")
        list(request);
    else if (op == "fetch")
        fetch(request);
    else if (op == "start")
        start(request);
    else if (op == "follow")
        follow(request);
    else if (op == "signal")
        signal(request);
    else if (op == "jobs")
        listJobs();
    else if (op == "results")
        listResults(request);
    else if (op == "points")
        sendPoints(request);
    else if (op == "remove")
        remove(request);
    else
        throw Error{.what = "unknown request", .where = op};
}

bool isRecording(const fs::path& file)
{
    std::array<char, 16> head{};
    const FileDescriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    return read(descriptor.get(), head.data(), head.size()) == ssize_t(head.size()) &&
           std::string_view(head.data()) == "SQLite format 3";
}

/// Whether the file alone is not all: SQLite keeps recent changes beside it.
bool hasLog(const fs::path& file)
{
    std::error_code error;
    const std::uintmax_t size = fs::file_size(file.string() + "-wal", error);
    return !error && size > 0;
}

/// Null for what no client can open.
Json Server::described(const fs::directory_entry& entry) const
{
    std::error_code error;
    const std::string name = entry.path().filename();
    const bool isFolder = entry.is_directory(error);
    if (isFolder && findGrowing_ && name.find(".tscope") != std::string::npos)
        if (const auto growing = findGrowing_(entry.path()); growing && growing->folder == entry.path())
            return {{"name", growing->output.filename().string()},
                    {"growing", true},
                    {"changed", unixTime(entry.path())}};
    if (!isFolder && !entry.is_regular_file(error))
        return {};
    const bool isGrowing = name.ends_with(".tscope") && store::WriterLock::isHeld(entry.path());
    const std::uintmax_t size = isFolder ? 0 : entry.file_size(error);
    return {{"name", name},
            {"folder", isFolder},
            {"growing", isGrowing},
            {"size", error ? 0 : size},
            {"changed", unixTime(entry.path())}};
}

void Server::list(const Json& request) const
{
    const std::string named = textIn(request, "path");
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(placeOf(named), error);
    fs::directory_iterator entries(folder, fs::directory_options::skip_permission_denied, error);
    if (error)
        throw Error{.what = "cannot be read there (" + error.message() + ")",
                    .where = named,
                    .remedy =
                        "name a folder that you may read; paths are relative to your home folder there"};
    Json list = Json::array();
    bool isCut = false;
    for (const fs::directory_entry& entry : entries) {
        if (entry.path().filename().string().starts_with('.'))
            continue;
        isCut = list.size() == RemoteFolder::kMostEntries;
        if (isCut)
            break;
        if (Json one = described(entry); !one.is_null())
            list.push_back(std::move(one));
    }
    send({{"end", true}, {"path", folder.string()}, {"cut", isCut}, {"entries", std::move(list)}});
}

bool isResultName(std::string_view name)
{
    constexpr std::size_t kMost = 40;
    return name.starts_with("result") && name.ends_with(".tscope") && name.size() <= kMost &&
           name.find('/') == std::string_view::npos;
}

/// \throws Error  it is not the name of a recording
fs::path resultFile(const JobFolder& folder, const std::string& name)
{
    if (!isResultName(name))
        throw Error{.what = "is no recording of work", .where = name};
    return folder.file(name.c_str());
}

/// The recordings that work has begun to write.
std::vector<fs::path> resultsOf(const JobFolder& folder)
{
    std::vector<fs::path> files;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path(), none))
        if (isResultName(entry.path().filename().string()) && isRecording(entry.path()))
            files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

/// What changes when something is written to a recording.
std::string stampOf(const fs::path& file)
{
    const std::string log = file.string() + "-wal";
    std::error_code none;
    return std::to_string(unixTime(file)) + ' ' + std::to_string(unixTime(log)) + ' ' +
           std::to_string(fs::file_size(file, none));
}

void Server::listResults(const Json& request) const
{
    Json results = Json::array();
    for (const fs::path& file : resultsOf(JobFolder::of(textIn(request, "id"))))
        results.push_back({{"name", file.filename().string()}, {"stamp", stampOf(file)}});
    send({{"end", true}, {"results", std::move(results)}});
}

/// How the process of a working file ended, or that it runs, which only this machine knows.
std::string processEnd(const fs::path& workingFile)
{
    if (std::string noted = record::endOf(workingFile); !noted.empty())
        return noted;
    std::map<std::string, std::string, std::less<>> facts;
    for (const auto& [key, value] : record::firstFactsOf(workingFile))
        facts[key] = value;
    const bool runs = record::stillRuns(facts["host"], parseNumber<std::int64_t>(facts["pid"]).value_or(0),
                                        {.started = facts["started"], .space = facts["pid_namespace"]});
    return runs ? std::string(record::kRunsElsewhere) : std::string();
}

/// The files of a recording that is still made, with what the copies need to be joined elsewhere.
Json workingParts(const fs::path& folder)
{
    Json parts = Json::array();
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".working" && entry.is_regular_file(error) &&
            entry.file_size(error) > record::kWorkingFileLine.size())
            parts.push_back({{"name", entry.path().filename().string()},
                             {"size", entry.file_size(error)},
                             {"end", processEnd(entry.path())}});
    const fs::path snapshots = fs::path(kSnapshots);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / snapshots, error))
        if (entry.is_regular_file(error))
            parts.push_back({{"name", (snapshots / entry.path().filename()).string()},
                             {"size", entry.file_size(error)},
                             {"end", ""}});
    return parts;
}

void Server::sendPoints(const Json& request) const
{
    const JobFolder folder = JobFolder::of(textIn(request, "id"));
    send({{"end", true}, {"points", textOfFile(folder.file(kPointsFile))}});
}

void Server::fetch(const Json& request) const
{
    const std::string named = textIn(request, "path");
    const fs::path file = textIn(request, "job").empty()
                              ? placeOf(named)
                              : resultFile(JobFolder::of(textIn(request, "job")), textIn(request, "file"));
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (fs::is_regular_file(status)) {
        const bool isGrowing = isRecording(file) && store::WriterLock::isHeld(file);
        if (!isGrowing && !(isRecording(file) && hasLog(file)))
            return sendPieces(file, request, false);
        const fs::path folder = userCacheDirectory() / "snapshots";
        fs::create_directories(folder);
        fs::permissions(folder, fs::perms::owner_all);
        const TemporaryPath copy(folder / file.filename(), TemporaryPath::Kind::Folder);
        const fs::path whole = copy.path() / "copy.tscope";
        store::snapshot(file, whole);
        return sendPieces(whole, request, isGrowing);
    }
    if (const auto growing = findGrowing_ ? findGrowing_(file) : std::nullopt)
        return send({{"end", true},
                     {"folder", growing->folder.string()},
                     {"output", growing->output.filename().string()},
                     {"parts", workingParts(growing->folder)}});
    const bool isMissing = status.type() == fs::file_type::not_found;
    throw Error{.what = isMissing                  ? "no such file there"
                        : fs::is_directory(status) ? std::string(kIsFolderThere)
                        : error                    ? "cannot be opened there (" + error.message() + ")"
                                                   : "is not a regular file there",
                .where = named,
                .remedy = "name a file; paths are relative to your home folder there"};
}

void Server::sendPieces(const fs::path& file, const Json& request, bool isGrowing) const
{
    const FileDescriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat before {};
    if (!descriptor || fstat(descriptor.get(), &before) != 0)
        throw Error{.what = std::string("cannot be opened there (") + std::strerror(errno) + ")",
                    .where = textIn(request, "path"),
                    .remedy = "check its permissions"};
    posix_fadvise(descriptor.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    send({{"size", before.st_size}, {"growing", isGrowing}});
    static const Json none = Json::array();
    const Json& known = request.contains("known") && request["known"].is_array() ? request["known"] : none;
    std::string piece(std::size_t(kPieceBytes), '\0');
    for (std::int64_t number = 0; number * kPieceBytes < before.st_size; ++number) {
        const std::size_t length =
            std::size_t(std::min<std::int64_t>(kPieceBytes, before.st_size - number * kPieceBytes));
        std::size_t filled = 0;
        while (filled < length) {
            const ssize_t count = pread(descriptor.get(), piece.data() + filled, length - filled,
                                        number * kPieceBytes + std::int64_t(filled));
            if (count == 0 || (count < 0 && errno != EINTR))
                throw Error{.what = "changes there while it is read",
                            .where = textIn(request, "path"),
                            .remedy = "try again",
                            .kind = ErrorKind::Failure};
            filled += std::size_t(std::max<ssize_t>(count, 0));
        }
        const std::string_view bytes(piece.data(), length);
        // A first fetch compares nothing, so nothing is hashed.
        const Json& has = std::size_t(number) < known.size() ? known[std::size_t(number)] : none;
        if (has.is_string() && !has.get_ref<const std::string&>().empty() && has == sha256(bytes))
            send(FrameType::Same, bigEndian(std::uint64_t(number)));
        else
            sendPiece(std::uint64_t(number), bytes);
    }
    struct stat after {};
    const bool isSame = fstat(descriptor.get(), &after) == 0 && after.st_size == before.st_size &&
                        after.st_mtim.tv_sec == before.st_mtim.tv_sec &&
                        after.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (!isSame && !flagIn(request, "grows"))
        throw Error{.what = "changed there while it was read",
                    .where = textIn(request, "path"),
                    .remedy = "try again",
                    .kind = ErrorKind::Failure};
    send({{"end", true}});
}

// Without a copy of the piece.
void Server::sendPiece(std::uint64_t number, std::string_view bytes) const
{
    const std::uint64_t check = pieceCheck(bytes);
    write(frameHead(FrameType::Piece, sizeof(number) + sizeof(check) + bytes.size()) + bigEndian(number) +
          bigEndian(check));
    write(bytes);
}

/// Starts the runner of a job in a session of its own, and waits until the work has begun.
void startRunner(const JobFolder& folder)
{
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw Error{.what = std::string("no pipe could be made there (") + std::strerror(errno) + ")",
                    .kind = ErrorKind::Failure};
    const FileDescriptor reading(ends[0]);
    FileDescriptor writing(ends[1]);
    SpawnSettings settings;
    posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&settings.actions, writing.get(), STDOUT_FILENO);
    // The runner's own errors belong to the job: the client's connection may end at any time.
    posix_spawn_file_actions_addopen(&settings.actions, STDERR_FILENO, folder.file("err").c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    std::vector<std::string> words{executablePath().string(), "serve", "--job", folder.path().string()};
    std::vector<std::string> variables = environmentWith({});
    pid_t pid = -1;
    const int failure = posix_spawn(&pid, words.front().c_str(), &settings.actions, &settings.attributes,
                                    pointersTo(words).data(), pointersTo(variables).data());
    if (failure != 0)
        throw Error{.what = std::string("the work cannot be started there (") + std::strerror(failure) + ")",
                    .where = words.front(),
                    .kind = ErrorKind::Failure};
    writing.reset();
    std::array<char, 16> line{};
    while (read(reading.get(), line.data(), line.size()) < 0 && errno == EINTR) {
    }
}

void Server::start(const Json& request) const
{
    const JobFolder folder = JobFolder::of(textIn(request, "id"));
    // A request that is repeated, because its answer was lost, starts nothing again.
    if (!folder.exists()) {
        Json job = request;
        if (const std::string cwd = textIn(request, "cwd");
            !cwd.empty() || textIn(request, "kind") == "record") {
            const fs::path place = placeOf(cwd);
            std::error_code error;
            if (!fs::is_directory(place, error))
                throw Error{.what = "no such folder there", .where = cwd, .remedy = "name one with --cwd"};
            job["cwd"] = place.string();
        }
        if (!job.contains("arguments") || !job["arguments"].is_array())
            throw Error{.what = "the request has no arguments", .where = "start"};
        fs::create_directories(jobsFolder());
        fs::permissions(jobsFolder(), fs::perms::owner_all);
        fs::create_directory(folder.path());
        fs::permissions(folder.path(), fs::perms::owner_all);
        if (const std::string points = textIn(request, "points"); !points.empty())
            folder.write(kPointsFile, points);
        job.erase("points");
        folder.write(kJobFile, job.dump());
        startRunner(folder);
    } else if (!folder.isRunning() && !folder.status() && !folder.group()) {
        startRunner(folder); // the machine was stopped in between
    }
    send({{"end", true}});
}

std::int64_t Server::sendNew(const fs::path& file, std::int64_t from, FrameType type) const
{
    const FileDescriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
    std::array<char, 65536> bytes;
    for (;;) {
        const ssize_t count = pread(descriptor.get(), bytes.data(), bytes.size(), from);
        if (count <= 0)
            return from;
        send(type, std::string_view(bytes.data(), std::size_t(count)));
        from += count;
    }
}

void Server::follow(const Json& request) const
{
    const JobFolder folder = JobFolder::of(textIn(request, "id"));
    if (!folder.exists())
        throw Error{.what = "no such work there",
                    .where = folder.path().filename().string(),
                    .remedy = "tilescope hosts jobs HOST lists it"};
    std::int64_t out = std::max<std::int64_t>(numberIn(request, "out"), 0);
    std::int64_t err = std::max<std::int64_t>(numberIn(request, "err"), 0);
    const bool isForSlurm = folder.isForSlurm();
    std::string queue;
    FolderChanges changes(folder.path());
    bool isWatchedAgain = false;
    for (;;) {
        // In this order: what was written before the end is sent before it.
        const bool isRunning = folder.isRunning();
        const std::optional<std::string> status = folder.status();
        out = sendNew(folder.file("out"), out, FrameType::Output);
        err = sendNew(folder.file("err"), err, FrameType::Errors);
        if (isForSlurm)
            if (const std::string text = textOfFile(folder.file(kQueueFile));
                std::exchange(queue, text) != text && !text.empty())
                send({{"queue", queue}, {"number", slurmNumber(folder)}});
        if (status) {
            Json end = Json::parse(*status, nullptr, false);
            end["end"] = true;
            end["result"] = !resultsOf(folder).empty();
            return send(end);
        }
        if (!isRunning && !folder.status()) {
            // Work in Slurm's hands goes on without the process that watches it here.
            if (!isForSlurm || std::exchange(isWatchedAgain, true))
                return send({{"end", true}, {"died", true}, {"result", !resultsOf(folder).empty()}});
            startRunner(folder);
        }
        if (changes.wait(input_))
            throw Gone{}; // the client sends nothing while it follows
    }
}

void Server::signal(const Json& request) const
{
    const JobFolder folder = JobFolder::of(textIn(request, "id"));
    const auto group = folder.group();
    const std::string name = textIn(request, "signal");
    const bool pauses = name == "USR1";
    if (!pauses && name != "INT" && name != "KILL")
        throw Error{.what = "unknown signal", .where = name};
    if (pauses && textIn(Json::parse(textOfFile(folder.file(kJobFile)), nullptr, false), "kind") != "sweep")
        throw Error{.what = "only sweeps can be paused",
                    .where = folder.path().filename().string(),
                    .remedy = "cancel it"};
    // The runner has not yet collected the process, so its number is still its own. The sweep knows SIGUSR1, its
    // engine does not. Work in Slurm's hands is signalled by the process that watches it.
    if (!folder.isForSlurm() && group && folder.isRunning() && *group > 1)
        kill(pauses ? *group : -*group, pauses ? SIGUSR1 : name == "KILL" ? SIGKILL : SIGINT);
    try {
        folder.write(kSignalFile, name);
    } catch (const Error&) { // a full disk; only Slurm needs the file
        if (folder.isForSlurm())
            throw;
    }
    send({{"end", true}});
}

/// Whether work runs, or lies in Slurm's hands.
bool isAlive(const JobFolder& folder)
{
    return folder.isRunning() || (!folder.status() && !slurmNumber(folder).empty());
}

void Server::listJobs() const
{
    Json jobs = Json::array();
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(jobsFolder(), none)) {
        const JobFolder folder(entry.path());
        Json job = Json::parse(textOfFile(folder.file(kJobFile)), nullptr, false);
        if (!job.is_object())
            continue;
        const auto status = folder.status();
        jobs.push_back({{"id", entry.path().filename().string()},
                        {"kind", textIn(job, "kind")},
                        {"label", textIn(job, "label")},
                        {"output", textIn(job, "output")},
                        {"started", numberIn(job, "started")},
                        {"state", status            ? "ended"
                                  : isAlive(folder) ? "running"
                                                    : "died"}});
    }
    send({{"end", true}, {"jobs", jobs}});
}

void Server::remove(const Json& request) const
{
    const JobFolder folder = JobFolder::of(textIn(request, "id"));
    if (isAlive(folder) && !folder.status())
        throw Error{.what = "is running there",
                    .where = folder.path().filename().string(),
                    .remedy = "cancel it first"};
    std::error_code error;
    fs::remove_all(folder.path(), error);
    send({{"end", true}});
}

void sendRefusal(const Server& server, const Error& error)
{
    const char* kind = error.kind == ErrorKind::Usage         ? "usage"
                       : error.kind == ErrorKind::Environment ? "environment"
                                                              : "failure";
    server.send({{"error",
                  {{"what", error.what}, {"where", error.where}, {"remedy", error.remedy}, {"kind", kind}}}});
}

} // namespace

int serve(int input, int output, const FindGrowing& findGrowing)
{
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGHUP, SIG_IGN);
    Server server(input, output, findGrowing);
    FrameReader reader(false);
    try {
        [[maybe_unused]] const ssize_t greeted = write(output, kGreeting.data(), kGreeting.size());
        std::array<char, 65536> bytes;
        for (;;) {
            const ssize_t count = read(input, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR)
                continue;
            if (count <= 0)
                return 0;
            reader.feed(std::string_view(bytes.data(), std::size_t(count)), [&](const Frame& frame) {
                try {
                    const Json request = Json::parse(frame.body, nullptr, false);
                    server.answer(request);
                } catch (const Gone&) {
                    throw;
                } catch (...) {
                    sendRefusal(server, currentError());
                }
            });
        }
    } catch (const Gone&) {
        return 0;
    }
}

} // namespace tilescope::hosts
