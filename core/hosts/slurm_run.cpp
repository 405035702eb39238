#include "core/hosts/slurm_run.h"

#include "core/base/file_descriptor.h"
#include "core/base/paths.h"
#include "core/hosts/folder_changes.h"
#include "core/hosts/host_list.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/server.h"
#include "core/hosts/slurm.h"
#include "core/hosts/task_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace tilescope::hosts {

using Json = nlohmann::json;

namespace {

using Clock = std::chrono::steady_clock;

/// Appends to a file; without effect where the disk is full.
void append(const std::filesystem::path& file, std::string_view bytes)
{
    const FileDescriptor to{open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
    while (!bytes.empty()) {
        const ssize_t count = write(to.get(), bytes.data(), bytes.size());
        if (count < 0 && errno != EINTR)
            return;
        bytes.remove_prefix(std::size_t(std::max<ssize_t>(count, 0)));
    }
}

std::string lastLineOf(std::string text)
{
    constexpr std::size_t kMost = 300;
    while (!text.empty() && text.back() <= ' ')
        text.pop_back();
    return text.substr(text.find_last_of('\n') + 1).substr(0, kMost);
}

/// A file that another process appends to.
class GrowingText {
public:
    explicit GrowingText(std::filesystem::path file) : file_(std::move(file)) {}

    void skip()
    {
        std::error_code none;
        const std::uintmax_t size = std::filesystem::file_size(file_, none);
        read_ = none ? 0 : std::int64_t(size);
    }
    /// Calls `take` with what it gained.
    void read(const std::function<void(std::string_view)>& take)
    {
        const FileDescriptor from{open(file_.c_str(), O_RDONLY | O_CLOEXEC)};
        std::array<char, 65536> bytes;
        for (;;) {
            const ssize_t count = pread(from.get(), bytes.data(), bytes.size(), read_);
            if (count <= 0)
                return;
            read_ += count;
            take(std::string_view(bytes.data(), std::size_t(count)));
        }
    }

private:
    std::filesystem::path file_;
    std::int64_t read_ = 0;
};

/// A task and how it ended.
struct WatchedTask {
    GrowingText out;
    GrowingText err;
    std::optional<Json> end = {}; ///< code and signal; `slurm`: the state with which Slurm ended it
    bool wasMissed = false;       ///< Slurm did not have it at the last look
};

class SlurmRun {
public:
    SlurmRun(const JobFolder& folder, const Json& job)
        : folder_(folder), tasks_(int(std::clamp<std::int64_t>(numberIn(job, "tasks"), 1, Host::kMostTasks))),
          joined_(tasks_, numberIn(job, "count"),
                  [&folder](std::string_view text) { append(folder.file("out"), text); })
    {
        const auto file = [&](const char* name, int task) {
            return folder.file(taskFile(name, task, tasks_).c_str());
        };
        for (int task = 0; task < tasks_; ++task)
            watched_.push_back({GrowingText(file("out", task)), GrowingText(file("err", task))});
    }

    void resume()
    {
        joined_.resume(textOfFile(folder_.file("out")));
        for (WatchedTask& task : watched_)
            task.err.skip();
    }
    Json watch(const std::string& number);

private:
    bool lookAtFiles();
    bool lookAtQueue(const std::string& number);
    void passOn(int task);
    Json status(const std::string& number) const;
    std::string failureOf(const std::string& number, int task, const std::string& state) const;

    const JobFolder& folder_;
    int tasks_;
    TaskOutputs joined_;
    std::vector<WatchedTask> watched_;
    std::string signal_;
    std::string queue_;
};

void SlurmRun::passOn(int number)
{
    if (tasks_ == 1)
        return; // it writes the files of the job itself
    WatchedTask& task = watched_[std::size_t(number)];
    task.out.read([&](std::string_view bytes) { joined_.feed(number, bytes); });
    task.err.read([&](std::string_view bytes) { append(folder_.file("err"), bytes); });
}

/// Whether all tasks have ended.
bool SlurmRun::lookAtFiles()
{
    bool haveEnded = true;
    for (int number = 0; number < tasks_; ++number) {
        WatchedTask& task = watched_[std::size_t(number)];
        if (task.end)
            continue;
        const std::string end = textOfFile(folder_.file(taskFile("ended", number, tasks_).c_str()));
        passOn(number); // what was written before the end
        const Json parsed = Json::parse(end, nullptr, false);
        if (!parsed.is_object()) {
            haveEnded = false;
            continue;
        }
        task.end = parsed;
        joined_.end(number);
    }
    return haveEnded;
}

/// Notes what Slurm says, and which tasks it ended. Whether something may be about to change.
bool SlurmRun::lookAtQueue(const std::string& number)
{
    bool isKnown = true;
    SlurmTasks tasks = slurmTasks(number, isKnown);
    if (tasks.empty() && isKnown)
        return false; // Slurm does not answer now
    if (std::string text = queueText(tasks, tasks_); text != queue_) {
        queue_ = std::move(text);
        folder_.write(kQueueFile, queue_);
    }
    bool isMissing = false;
    for (int i = 0; i < tasks_; ++i) {
        WatchedTask& task = watched_[std::size_t(i)];
        const auto found = tasks.find(i);
        if (found != tasks.end() && !found->second.hasEnded()) {
            task.wasMissed = false;
            continue;
        }
        const std::string state = found == tasks.end() ? "" : found->second.state;
        const bool wasCancelledThere = state == "CANCELLED" && signal_.empty();
        if (task.end && (wasCancelledThere || (found != tasks.end() && found->second.wasEndedBySlurm())))
            (*task.end)["slurm"] = state;
        if (task.end)
            continue;
        // Its end may not be visible on this machine yet.
        if (task.wasMissed) {
            task.end = Json{{"code", 0}, {"signal", 0}, {"slurm", state.empty() ? "unknown" : state}};
            passOn(i);
            joined_.end(i);
        }
        isMissing = isMissing || !task.end;
        task.wasMissed = true;
    }
    return isMissing;
}

Json SlurmRun::watch(const std::string& number)
{
    constexpr std::chrono::milliseconds kSoon{500};
    constexpr std::chrono::milliseconds kLongest{10'000};
    FolderChanges changes(folder_.path());
    std::chrono::milliseconds pause = kSoon;
    auto due = Clock::now();
    const auto noteSignal = [&] {
        const std::string wanted = textOfFile(folder_.file(kSignalFile));
        if (std::exchange(signal_, wanted) == wanted)
            return;
        signalSlurmJob(number, wanted);
        pause = kSoon;
        due = Clock::now() + pause;
    };
    while (!lookAtFiles()) {
        noteSignal();
        if (Clock::now() >= due) {
            pause = lookAtQueue(number) ? kSoon : std::min(2 * pause, kLongest);
            due = Clock::now() + pause;
        }
        changes.wait();
    }
    // Where the work was ended, Slurm says why; it may still be about to.
    const auto wasStopped = [](const WatchedTask& task) {
        constexpr int kCancelled = 130;
        return numberIn(*task.end, "code") == kCancelled || numberIn(*task.end, "signal") != 0;
    };
    constexpr int kLooks = 6;
    for (int look = 0;
         look < kLooks && signal_.empty() && std::ranges::any_of(watched_, wasStopped) &&
         std::ranges::none_of(watched_, [](const WatchedTask& task) { return task.end->contains("slurm"); });
         ++look) {
        lookAtQueue(number);
        changes.wait();
    }
    if (tasks_ > 1)
        joined_.finish();
    return status(number);
}

std::string SlurmRun::failureOf(const std::string& number, int task, const std::string& state) const
{
    std::string failure = "Slurm ended job " + number + (tasks_ > 1 ? "_" + std::to_string(task) : "") +
                          (state == "unknown" ? ", and does not say why" : " (" + state + ")");
    if (const std::string said = lastLineOf(textOfFile(folder_.file(taskFile("node", task, tasks_).c_str())));
        !said.empty())
        failure += ": " + said;
    return failure;
}

std::string remedyFor(const std::string& state, const std::string& number)
{
    if (state == "TIMEOUT")
        return "give it more time with hosts add NAME --sbatch=--time=…, then run what is missing with "
               "--resume";
    if (state == "OUT_OF_MEMORY")
        return "give it more memory with hosts add NAME --sbatch=--mem=…";
    if (state == "FAILED")
        return "check that the home folder lies on a disk that the nodes share";
    return "sacct -j " + number + " there may say more; run what is missing with --resume";
}

/// One end for all tasks.
Json SlurmRun::status(const std::string& number) const
{
    constexpr int kFailure = 3;
    constexpr int kCancelled = 130;
    Json status{{"code", 0}, {"signal", 0}};
    int failed = 0;
    for (int i = 0; i < tasks_; ++i) {
        const Json& end = *watched_[std::size_t(i)].end;
        const std::string state = textIn(end, "slurm");
        const bool wasWanted = !signal_.empty();
        if (!state.empty() && !wasWanted && ++failed == 1) {
            status["failure"] = failureOf(number, i, state);
            status["remedy"] = remedyFor(state, number);
        }
        if (wasWanted && !state.empty() && signal_ != "USR1")
            status["code"] = kCancelled;
        const std::int64_t code = numberIn(end, "code");
        if (tasks_ == 1)
            status["signal"] = numberIn(end, "signal");
        else if (numberIn(end, "signal") != 0 && status["code"] == 0)
            status["code"] = kFailure;
        // A cancelled part is more than a failed one.
        if (code == kCancelled || (code != 0 && status["code"] == 0))
            status["code"] = code;
    }
    if (failed > 1)
        status["failure"] = status["failure"].get<std::string>() + "; " + std::to_string(failed - 1) +
                            " more of its tasks ended so";
    return status;
}

} // namespace

Json runInSlurm(const JobFolder& folder, const Json& job,
                const std::function<int(const std::vector<std::string>& words)>& submit)
{
    SlurmRun run(folder, job);
    if (slurmNumber(folder).empty()) {
        const int tasks = int(std::max<std::int64_t>(numberIn(job, "tasks"), 1));
        const int code =
            submit(sbatchWords(folder, {executablePath().string(), "serve", "--task", folder.path().string()},
                               job["sbatch"].get<std::vector<std::string>>(), textIn(job, "cwd"), tasks,
                               int(numberIn(job, "gpus"))));
        if (slurmNumber(folder).empty())
            return {{"code", 3},
                    {"signal", 0},
                    {"failure",
                     code == 127 ? "sbatch was not found"
                                 : "sbatch refused the job: " + lastLineOf(textOfFile(folder.file("err")))},
                    {"remedy",
                     "check the options that hosts add NAME --sbatch gives, and tilescope hosts check"}};
    } else {
        run.resume();
    }
    return run.watch(slurmNumber(folder));
}

} // namespace tilescope::hosts
