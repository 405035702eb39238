#include "app/cli/join_recording.h"

#include "app/cli/recorded_processes.h"
#include "core/base/current_error.h"
#include "core/base/error.h"
#include "core/base/plural.h"
#include "core/base/shell_word.h"
#include "core/base/terminal_text.h"
#include "core/hosts/server.h"
#include "core/model/metric.h"
#include "core/record/control.h"
#include "core/record/process_end.h"
#include "core/record/working_file.h"
#include "core/store/file/writer_lock.h"
#include "core/store/run_reader.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(200);
constexpr auto kUnsaid = std::chrono::milliseconds(500); ///< processes that end soon need no sentence
constexpr auto kStarting = std::chrono::seconds(1);      ///< for a shell in the background to start a program
constexpr auto kSilent =
    std::chrono::seconds(30); ///< for a program to begin: importing PyTorch may take long

void say(const std::string& sentence)
{
    std::cerr << "tilescope record: " << sentence << std::endl;
}

/// "process 12", "processes 12 and 13", "processes 12, 13 and 14".
std::string processesText(const std::vector<int>& pids)
{
    std::string text = plural(static_cast<std::int64_t>(pids.size()), "process", "processes") + " ";
    for (std::size_t i = 0; i < pids.size(); ++i)
        text += (i == 0 ? "" : i + 1 == pids.size() ? " and " : ", ") + std::to_string(pids[i]);
    return text;
}

/// While the terminal's keys are for this process alone: Ctrl+C must not end the processes that it waits for, which the
/// program left in the background.
class ForegroundAlone {
public:
    ForegroundAlone() : group_(getpgrp())
    {
        isIn_ = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == group_ && setpgid(0, 0) == 0;
        if (isIn_)
            setForeground(getpid());
    }
    ~ForegroundAlone()
    {
        if (isIn_) {
            setForeground(group_);
            setpgid(0, group_);
        }
    }
    ForegroundAlone(const ForegroundAlone&) = delete;
    ForegroundAlone& operator=(const ForegroundAlone&) = delete;

private:
    static void setForeground(pid_t group)
    {
        // A group in the background that asks for the terminal would be stopped.
        sigset_t stop;
        sigset_t before;
        sigemptyset(&stop);
        sigaddset(&stop, SIGTTOU);
        pthread_sigmask(SIG_BLOCK, &stop, &before);
        tcsetpgrp(STDIN_FILENO, group);
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    pid_t group_;
    bool isIn_ = false;
};

void sayWait(const std::vector<int>& running, const std::vector<int>& silent)
{
    std::string text = "the command has ended; ";
    const auto count = static_cast<std::int64_t>(running.size());
    if (!running.empty())
        text += processesText(running) + plural(count, " still runs and is", " still run and are") +
                " recorded; ";
    if (!silent.empty())
        text +=
            processesText(silent) +
            plural(static_cast<std::int64_t>(silent.size()), " still runs and has", " still run and have") +
            " not recorded anything yet; ";
    text += record::controlFolder().empty() ? "Ctrl+C or SIGTERM ends the wait"
                                            : "Ctrl+C, SIGTERM or `tilescope record --stop " +
                                                  std::to_string(getpid()) + "` ends the wait";
    say(text);
}

/// The facts of a process whose working file has no events, and of one that has none: why nothing was recorded.
struct Unrecorded {
    std::set<std::string> reasons;
    std::vector<fs::path> files;
};

struct Found {
    std::vector<fs::path> recorded;
    Unrecorded rest;
};

std::string factOf(const record::ProcessFacts& facts, std::string_view key)
{
    std::string value;
    for (const auto& [name, text] : facts)
        if (name == key)
            value = text;
    return value;
}

/// Adds why processes were not recorded.
/// \param ends  the name of a working file, which begins with the number of its process, and the reason
void addReasons(std::set<std::string>& reasons, const std::multimap<std::string, std::string>& ends)
{
    std::map<std::string, std::set<int>> byReason;
    for (const auto& [name, reason] : ends)
        byReason[reason].insert(std::atoi(name.c_str()));
    for (const auto& [reason, pids] : byReason)
        reasons.insert(processesText({pids.begin(), pids.end()}) +
                       plural(static_cast<std::int64_t>(pids.size()), " was", " were") +
                       " not recorded: " + reason);
}

Found filesOf(const fs::path& folder, const std::map<std::string, std::string>& unrecorded)
{
    Found found;
    std::multimap<std::string, std::string> ends(unrecorded.begin(), unrecorded.end());
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const fs::path& file = entry.path();
        if (file.extension() == ".end" && !fs::exists(fs::path(file).replace_extension(".working"))) {
            ends.emplace(file.filename().string(), record::endOf(file));
            found.rest.files.push_back(file);
        }
        if (file.extension() != ".working")
            continue;
        const record::WorkingFileSummary summary = record::summaryOf(file);
        if (summary.hasEvents) {
            found.recorded.push_back(file);
            continue;
        }
        found.rest.files.push_back(file);
        if (summary.isCut)
            ends.emplace(file.filename().string(), "it ended before its first events were written");
        for (const char* key : {"missed", "record_ended", "modules"})
            if (const std::string text = factOf(summary.facts, key); !text.empty())
                found.rest.reasons.insert(text);
        if (const std::string end = record::endOf(file); end.starts_with(record::kRecorderStopped))
            found.rest.reasons.insert(end);
    }
    addReasons(found.rest.reasons, ends);
    std::ranges::sort(found.recorded);
    return found;
}

/// Says what kept a part from being recorded, in which way allocations and operators were, and at what cost.
void sayHow(const fs::path& file, RunId run)
{
    constexpr std::array<std::string_view, 9> kSaid{"record.device", "record.inside",  "record.ended",
                                                    "record.missed", "record.modules", "record.memory",
                                                    "record.ops",    kMetricsRecorded, "record.cost"};
    bool hasWay = false;
    bool hasCost = false;
    for (const EnvironmentEntry& fact : store::RunReader(file).environment(run)) {
        if (std::ranges::find(kSaid, fact.key) == kSaid.end())
            continue;
        hasWay = hasWay || fact.key == "record.memory" || fact.key == "record.ops";
        hasCost = hasCost || fact.key == "record.cost";
        say(escapeForTerminal(fact.value));
    }
    if (hasWay && !hasCost)
        say("the cost was not measured; --calibrate measures it");
}

/// Adds a run to the output, which another recording may be adding to.
exchange::ImportResult join(const std::vector<fs::path>& files, const EndedRecording& recording)
{
    constexpr int kTries = 5;
    for (int i = 1;; ++i) {
        awaitWriter(recording.output);
        try {
            return exchange::importFiles(files, recording.output, {}, recording.name, recording.counters);
        } catch (const Error&) {
            // Another one may have been faster.
            if (i == kTries || !store::WriterLock::isHeld(recording.output))
                throw;
        }
    }
}

void sayNothing(const EndedRecording& recording, const Unrecorded& rest, const std::vector<int>& living)
{
    if (!rest.reasons.empty())
        say("nothing was recorded");
    else if (!living.empty())
        say(processesText(living) +
            plural(static_cast<std::int64_t>(living.size()), " still runs", " still run") +
            "; so far, nothing was recorded");
    else if (recording.hasObstacle)
        say("nothing was recorded");
    else
        say("nothing was recorded: no use of CUDA, NVTX or PyTorch's modules was seen");
}

/// Removes the working files that have been read, and the folder unless a process has begun another one meanwhile.
void remove(const EndedRecording& recording, const Found& found)
{
    for (const std::vector<fs::path>* files : {&found.recorded, &found.rest.files})
        for (const fs::path& file : *files) {
            fs::remove(file);
            fs::remove(fs::path(file).replace_extension(".end"));
        }
    // Of processes that were killed while they sampled a GPU.
    std::vector<fs::path> claims;
    for (const fs::directory_entry& entry : fs::directory_iterator(recording.folder))
        if (entry.path().filename().string().starts_with("sampled-gpu-"))
            claims.push_back(entry.path());
    for (const fs::path& claim : claims)
        fs::remove(claim);
    for (const char* folder : {"snapshots", "python"})
        fs::remove_all(recording.folder / folder);
    std::error_code holdsOthers;
    fs::remove(recording.folder, holdsOthers);
}

} // namespace

void awaitWriter(const fs::path& output)
{
    constexpr auto kLongest = std::chrono::seconds(20);
    const Clock::time_point end = Clock::now() + kLongest;
    while (store::WriterLock::isHeld(output) && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void waitForOthers(RecordedProcesses& processes, std::optional<std::chrono::seconds> idle,
                   const std::stop_token& stop)
{
    using Programs = RecordedProcesses::Programs;
    processes.look({});
    if (processes.running().empty() && processes.silent(Programs::All).empty())
        return;
    const ForegroundAlone foreground;
    record::ControlSocket control;
    control.open(getpid());
    const Clock::time_point start = Clock::now();
    bool isSaid = false;
    bool isStopped = false;
    while (!stop.stop_requested() && !isStopped) {
        processes.look(kLook);
        const Clock::time_point now = Clock::now();
        const std::vector<int> running = processes.running();
        const std::vector<int> silent = now - start < kSilent ? processes.silent() : std::vector<int>();
        const bool isKnown = !running.empty() || !silent.empty();
        if (!isKnown && (now - start >= kStarting || processes.silent(Programs::All).empty()))
            return;
        if (isKnown && !isSaid && now - start >= kUnsaid) {
            sayWait(running, silent);
            isSaid = true;
        }
        if (idle && now - std::max(start, processes.lastEvent()) >= *idle)
            return;
        control.serve([&](std::string_view verb) {
            isStopped = verb == "stop";
            return std::string();
        });
        if (running.empty())
            std::this_thread::sleep_for(kLook); // nothing to wait for in look()
    }
}

void joinRecording(const EndedRecording& recording, const RecordedProcesses& processes)
{
    try {
        using Programs = RecordedProcesses::Programs;
        std::vector<int> living = processes.running();
        const bool writes = !living.empty();
        const Found found = filesOf(recording.folder, processes.unrecorded());
        // If nothing was recorded, whatever runs may still do so.
        std::ranges::copy(processes.silent(found.recorded.empty() ? Programs::All : Programs::Recordable),
                          std::back_inserter(living));
        if (found.recorded.empty()) {
            sayNothing(recording, found.rest, living);
        } else {
            const exchange::ImportResult joined = join(found.recorded, recording);
            if (!hosts::isResultOfWork(recording.output)) // whose client says where the run arrives
                say("run " + std::to_string(joined.run.value) + " of " +
                    escapeForTerminal(recording.output.string()));
            sayHow(recording.output, joined.run);
        }
        for (const std::string& reason : found.rest.reasons)
            say(escapeForTerminal(reason));
        if (living.empty())
            return remove(recording, found);
        const auto count = static_cast<std::int64_t>(living.size());
        say(processesText(living) +
            (writes ? plural(count, " still runs and writes", " still run and write")
                    : plural(count, " still runs and may write", " still run and may write")) +
            " into " + escapeForTerminal(recording.folder.string()) + "; when " +
            plural(count, "it has", "they have") + " ended, `tilescope import " +
            shellWord(recording.folder.string()) + " -o FILE` reads everything");
    } catch (...) {
        say(currentError().sentence() + "\ntilescope record: to try again: tilescope import " +
            shellWord(recording.folder.string()) + " -o FILE");
    }
}

} // namespace tilescope::cli
