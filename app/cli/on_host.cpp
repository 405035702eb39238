// What verbs do on other machines: --on HOST and HOST:PATH.

#include "app/cli/on_host.h"

#include "app/cli/import_progress.h"
#include "app/cli/notes.h"
#include "app/cli/recording.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/exchange/import/importer.h"
#include "core/exchange/import/recording/growing_recording.h"
#include "core/exchange/tables/number.h"
#include "core/hosts/collect_result.h"
#include "core/hosts/remote_file.h"
#include "core/hosts/remote_folder.h"
#include "core/hosts/result_arrivals.h"
#include "core/hosts/sweep_events.h"
#include "core/hosts/sweep_request.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <utility>
#include <variant>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

using exchange::sizeText;
using hosts::HostState;

bool drawsProgress()
{
    return isatty(STDERR_FILENO) != 0 && !isQuiet();
}

void eraseLine()
{
    if (drawsProgress())
        std::cerr << "\r\033[K" << std::flush;
}

/// "done of all", on the line where it was before.
void drawShare(const std::string& what, Bytes done, Bytes of)
{
    if (drawsProgress())
        std::cerr << "\r\033[K" << escapeForTerminal(what) << ' ' << sizeText(done) << " of " << sizeText(of)
                  << std::flush;
}

/// Says on standard error what a connection does.
hosts::HostWatch watchOf(const std::string& name)
{
    const auto state = [name](HostState now, const std::string& words) {
        if (now == HostState::Lost) {
            eraseLine();
            std::cerr << name << ": " << escapeForTerminal(words) << "; trying again" << std::endl;
        } else if (now == HostState::Installing && !isQuiet()) {
            std::cerr << name << ": copying Tilescope there" << std::endl;
        }
    };
    const auto copying = [name](Bytes done, Bytes of) {
        if (done == of)
            eraseLine();
        else
            drawShare(name + ": copied", done, of);
    };
    return {.state = state, .copying = copying};
}

hosts::FetchWatch fetchWatch(const std::string& name)
{
    return [name](const hosts::FetchProgress& progress) {
        if (progress.done == progress.of)
            eraseLine();
        else
            drawShare("fetching " + name, progress.done, progress.of);
    };
}

/// Adds the recording of ended work to a local file and removes it there, once it is safe here.
/// \param before  what arrived while it ran
void bringHome(hosts::RemoteHost& host, hosts::RemoteJob& job, const fs::path& file,
               const hosts::Arrival& before, SayMerge say, std::stop_token stop)
{
    const std::string name = host.host().name;
    const hosts::Arrival last =
        collectResult(host, job, file, hosts::copiesFolder(), fetchWatch("the runs of " + name), stop);
    // On standard error: standard output has the events, or what a program prints.
    if (say == SayMerge::Yes && !isQuiet())
        std::cerr << counted(before.runs + last.runs, "run") << " of " << name << " added to "
                  << escapeForTerminal(file.string()) << " (" << sizeText(before.received + last.received)
                  << " over the network)" << std::endl;
}

/// What a user needs to know to come back to work that goes on.
[[noreturn]] void leave(const hosts::RemoteHost& host, const hosts::RemoteJob& job, const fs::path& file)
{
    const std::string name = host.host().name;
    std::cerr << name << ": the work goes on there; come back to it with: tilescope hosts attach " << name
              << ' ' << job.id() << (file.empty() ? "" : " -o " + shellPath(file)) << std::endl;
    throw Cancelled{};
}

/// Follows work to its end and brings its recording home.
/// \param arrivals  of its runs while it goes on; null: they arrive at the end
int carryOut(hosts::RemoteHost& host, hosts::RemoteJob& job, const hosts::JobOutput& output,
             const fs::path& file, const session::StopSignals& signals,
             hosts::ResultArrivals* arrivals = nullptr, SayMerge say = SayMerge::Yes)
{
    hosts::JobEnd end;
    hosts::Arrival arrived;
    try {
        end = job.follow(output, {.cancel = signals.first(), .again = signals.second()});
        if (arrivals)
            arrived = arrivals->finish();
        if (file.empty() || !end.hasResult)
            job.remove(signals.second());
    } catch (const hosts::Stopped&) {
        leave(host, job, file);
    }
    try {
        if (!file.empty() && end.hasResult)
            bringHome(host, job, file, arrived, say, signals.second());
    } catch (const Error&) {
        std::cerr << host.host().name << ": the runs stay there; fetch them with: tilescope hosts attach "
                  << host.host().name << ' ' << job.id() << " -o " << shellPath(file) << std::endl;
        throw;
    } catch (const hosts::Stopped&) {
        leave(host, job, file);
    }
    if (!end.failure.empty())
        throw Error{.what = end.failure,
                    .where = host.host().name,
                    .remedy = !end.remedy.empty() ? end.remedy
                              : end.hasResult     ? "its recording was added as far as it was written"
                                                  : "start it again",
                    .kind = ErrorKind::Failure};
    return end.exitCode();
}

/// Says where work waits.
void sayQueue(const std::string& name, const std::string& number, const std::string& state)
{
    if (!isQuiet() && !state.empty())
        std::cerr << name << ": job " << escapeForTerminal(number)
                  << " of Slurm: " << escapeForTerminal(state) << std::endl;
}

/// Passes on what a program prints.
hosts::JobOutput passedOn(const std::string& name)
{
    return {.out = [](std::string_view bytes) { std::cout << bytes << std::flush; },
            .errors = [](std::string_view bytes) { std::cerr << bytes << std::flush; },
            .queue = [name](const std::string& number,
                            const std::string& state) { sayQueue(name, number, state); }};
}

/// Passes on a line of a program that this Tilescope did not write.
void sayLine(std::string_view line)
{
    constexpr std::size_t kMostShown = 2000;
    std::cerr << escapeForTerminal(line.substr(0, kMostShown)) << std::endl;
}

} // namespace

hosts::RemoteHost hostNamed(const std::string& name)
{
    return {hosts::HostList::ofUser().get(name), watchOf(name)};
}

std::vector<std::string> suggestedHosts()
{
    const hosts::HostList all = hosts::HostList::ofUser();
    std::vector<std::string> names = all.sshNames();
    for (const hosts::Host& host : all.hosts())
        names.push_back(host.name);
    return names;
}

std::optional<std::string_view> fileOnHost(std::string_view text)
{
    const auto remote = hosts::knownRemotePathOf(text);
    if (!remote)
        return {};
    const std::size_t colon = text.rfind(':');
    const bool namesRuns = colon > remote->host.size() && colon + 1 < text.size() &&
                           text.find_first_not_of("0123456789,", colon + 1) == std::string_view::npos;
    return namesRuns ? text.substr(0, colon) : text;
}

void refuseUnknownHost(std::string_view named)
{
    const auto remote = hosts::remotePathOf(named);
    std::error_code ignored;
    const bool namesRuns = remote && remote->path.find_first_not_of("0123456789,") == std::string::npos;
    if (!remote || namesRuns || fs::exists(remote->host, ignored) ||
        hosts::HostList::ofUser().find(remote->host))
        return;
    throw Error{.what = "no such file, and no host of the name " + remote->host,
                .where = std::string(named),
                .remedy = "check the path; tilescope hosts lists the hosts"};
}

void requireChangeable(std::string_view named)
{
    if (!hosts::knownRemotePathOf(named))
        return;
    throw Error{.what = "lies on another machine; only files of this one are changed",
                .where = std::string(named),
                .remedy = "copy its runs first: tilescope merge " + shellPath(std::string(named)) +
                          " -o FILE.tscope"};
}

namespace {

using Files = std::vector<fs::path>;

/// Calls `fetch` with the host of `named`, ready to answer, and what a signal requests to stop.
template <class FetchThem> Files withHost(const std::string& name, const FetchThem& fetch)
{
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    try {
        hosts::RemoteHost host = hostNamed(name);
        host.prepare(signals.first());
        return fetch(host, signals.first());
    } catch (const hosts::Stopped&) {
        eraseLine();
        throw Cancelled{};
    }
}

fs::path fetchOne(hosts::RemoteHost& host, const std::string& path, const std::stop_token& stop)
{
    const std::string named = host.host().name + ':' + path;
    const auto join = [](const fs::path& folder, const fs::path& recording) {
        return exchange::GrowingRecording{.folder = folder, .output = recording}
            .importInto(recording)
            .has_value();
    };
    const fs::path file = fetchFile(host, path, hosts::copiesFolder(), join, fetchWatch(named), stop).file;
    if (file.empty())
        throw Error{.what = "is being recorded there and has no event yet",
                    .where = named,
                    .remedy = "try again when the program uses CUDA, NVTX or PyTorch",
                    .kind = ErrorKind::Failure};
    rememberNamed(file, named);
    return file;
}

/// Whether the name of a file is one that an importer reads.
bool hasImportedName(std::string_view name)
{
    for (const exchange::Importer* importer : exchange::importers())
        for (const std::string_view ending : exchange::endingsOf(*importer))
            if (name.ends_with(ending))
                return true;
    return false;
}

/// The files of a folder there that importers read, by name.
Files fetchFolder(hosts::RemoteHost& host, const std::string& path, const std::stop_token& stop)
{
    const hosts::RemoteFolder folder = hosts::listFolder(host, path, stop);
    const std::string named = host.host().name + ':' + path;
    if (folder.isCut)
        throw Error{.what = "the folder has more than " +
                            counted(hosts::RemoteFolder::kMostEntries, "entry", "entries"),
                    .where = named,
                    .remedy = "name the files that are to be read"};
    Files files;
    for (const hosts::RemoteEntry& entry : folder.entries)
        if (!entry.isFolder && hasImportedName(entry.name))
            files.push_back(fetchOne(host, path + (path.ends_with('/') ? "" : "/") + entry.name, stop));
    if (files.empty())
        throw Error{.what = "the folder there has no file with a name that traces have",
                    .where = named,
                    .remedy = "name a file"};
    return files;
}

} // namespace

std::optional<fs::path> fetchedFile(std::string_view named)
{
    const auto remote = hosts::knownRemotePathOf(named); // who takes FILE:RUN has split it
    if (!remote) {
        refuseUnknownHost(named);
        return {};
    }
    return withHost(remote->host,
                    [&](hosts::RemoteHost& host, const std::stop_token& stop) {
                        return Files{fetchOne(host, remote->path, stop)};
                    })
        .front();
}

std::vector<fs::path> fetchedFiles(std::string_view named)
{
    const auto remote = hosts::knownRemotePathOf(named);
    if (!remote) {
        refuseUnknownHost(named);
        return {};
    }
    return withHost(remote->host, [&](hosts::RemoteHost& host, const std::stop_token& stop) {
        try {
            return Files{fetchOne(host, remote->path, stop)};
        } catch (const Error& error) {
            if (error.what != hosts::kIsFolderThere)
                throw;
        }
        return fetchFolder(host, remote->path, stop);
    });
}

int sweepOnHost(const std::string& name, const std::vector<session::SweepPoint>& points,
                const session::SweepOptions& options,
                const std::function<void(const session::Event&)>& onEvent,
                const session::StopSignals& signals, SayMerge say)
{
    hosts::requireResultFile(options.file);
    hosts::RemoteHost host = hostNamed(name);
    std::optional<hosts::RemoteJob> job;
    try {
        host.prepare(signals.first());
        job = hosts::RemoteJob::start(host, hosts::sweepJob(points, options, options.commandLine),
                                      signals.first());
    } catch (const hosts::Stopped&) {
        throw Cancelled{};
    }
    hosts::ResultArrivals arrivals(host, job->id(), options.file, hosts::copiesFolder());
    hosts::SweepEvents events(
        options.file,
        [&](const session::Event& event) {
            if (std::holds_alternative<session::ResultEvent>(event))
                arrivals.pointEnded();
            onEvent(event);
        },
        sayLine);
    const int code = carryOut(host, *job,
                              {.out = [&](std::string_view bytes) { events.feedOutput(bytes); },
                               .errors = [&](std::string_view bytes) { events.feedErrors(bytes); },
                               .queue = [&name](const std::string& number,
                                                const std::string& state) { sayQueue(name, number, state); }},
                              options.file, signals, &arrivals, say);
    events.finish();
    return code;
}

int commandOnHost(const std::string& name, hosts::JobRequest request, const fs::path& output)
{
    if (!output.empty()) {
        hosts::requireResultFile(output);
        request.output = fs::absolute(output).string();
    }
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    hosts::RemoteHost host = hostNamed(name);
    std::optional<hosts::RemoteJob> job;
    try {
        host.prepare(signals.first());
        job = hosts::RemoteJob::start(host, request, signals.first());
    } catch (const hosts::Stopped&) {
        throw Cancelled{};
    }
    return carryOut(host, *job, passedOn(name), output, signals);
}

int attachToHost(const std::string& name, const std::string& id, const fs::path& output,
                 const ShowSweep& showSweep)
{
    constexpr std::size_t kDigits = 32;
    if (id.size() != kDigits || id.find_first_not_of("0123456789abcdef") != std::string::npos)
        throw Error{.what = "is not the name of work there: 32 hexadecimal digits",
                    .where = id.substr(0, kDigits),
                    .remedy = "tilescope hosts jobs " + name + " lists it"};
    const session::StopSignals signals{SIGINT, SIGTERM, SIGHUP};
    hosts::RemoteHost host = hostNamed(name);
    try {
        host.prepare(signals.first());
        const auto entries = hosts::RemoteJob::list(host, signals.first());
        const auto entry = std::ranges::find(entries, id, &hosts::JobEntry::id);
        if (entry == entries.end())
            throw Error{.what = "no such work there",
                        .where = id,
                        .remedy = "tilescope hosts jobs " + name + " lists it"};
        const fs::path file = output.empty() ? fs::path(entry->output) : output;
        if (!file.empty())
            hosts::requireResultFile(file);
        hosts::RemoteJob job(host, id);
        if (entry->kind != "sweep")
            return carryOut(host, job, passedOn(name), file, signals);
        const hosts::SweepRequest sweep = hosts::parseSweepLines(job.points(signals.first()));
        hosts::SweepEvents events(file, showSweep(sweep.points), sayLine);
        hosts::JobOutput shown = passedOn(name);
        shown.out = [&events](std::string_view bytes) { events.feedOutput(bytes); };
        shown.errors = [&events](std::string_view bytes) { events.feedErrors(bytes); };
        const int code = carryOut(host, job, shown, file, signals);
        events.finish();
        return code;
    } catch (const hosts::Stopped&) {
        throw Cancelled{};
    }
}

} // namespace tilescope::cli
