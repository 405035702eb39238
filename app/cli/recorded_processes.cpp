#include "app/cli/recorded_processes.h"

#include "core/base/number_text.h"
#include "core/base/this_host.h"
#include "core/record/command_line.h"
#include "core/record/process_end.h"
#include "core/record/process_identity.h"
#include "core/record/working_file.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace tilescope::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kWorking = ".working";
constexpr auto kLookPeriod = std::chrono::milliseconds(200);

FileDescriptor handleOf(int process)
{
    constexpr long kPidfdOpen = 434; // from Linux 5.3 on
    return FileDescriptor(static_cast<int>(syscall(kPidfdOpen, process, 0)));
}

/// Opens the process that a working file tells about, if it is one of this host and container and still runs.
std::pair<int, FileDescriptor> processOf(const record::ProcessFacts& facts)
{
    const auto fact = [&](std::string_view key) {
        const auto found = std::ranges::find(facts, key, [](const auto& pair) { return pair.first; });
        return found == facts.end() ? std::string() : found->second;
    };
    const record::ProcessIdentity told{.started = fact("started"), .space = fact("pid_namespace")};
    const int pid = static_cast<int>(parseNumber<std::int32_t>(fact("pid")).value_or(0));
    if (pid <= 0 || fact("host") != hostName() || told.space != record::identityOf("self").space)
        return {0, FileDescriptor()};
    FileDescriptor handle = handleOf(pid);
    // Compared afterwards: the number may have been used again before.
    if (!handle || record::identityOf(std::to_string(pid)) != told)
        return {pid, FileDescriptor()};
    return {pid, std::move(handle)};
}

bool hasEnded(const FileDescriptor& handle)
{
    pollfd state{.fd = handle.get(), .events = POLLIN, .revents = 0};
    return poll(&state, 1, 0) > 0;
}

/// How a process ended that is not a child of this one; from Linux 6.15 on.
std::optional<int> statusOf(const FileDescriptor& handle)
{
    struct Info { // struct pidfd_info, whose first version has 64 bytes
        std::uint64_t mask;
        std::uint64_t cgroup;
        std::array<std::uint32_t, 11> numbers;
        std::int32_t exitCode;
    };
    static_assert(sizeof(Info) == 64);
    constexpr std::uint64_t kExit = 1U << 3;
    Info info{.mask = kExit, .cgroup = 0, .numbers = {}, .exitCode = 0};
    if (ioctl(handle.get(), _IOWR(0xff, 11, Info), &info) != 0 || (info.mask & kExit) == 0)
        return std::nullopt;
    return info.exitCode;
}

bool runsPython(const std::vector<std::string>& words)
{
    return !words.empty() && fs::path(words.front()).filename().string().starts_with("python");
}

} // namespace

RecordedProcesses::RecordedProcesses(fs::path folder, int command, std::unique_ptr<record::FileServer> files)
    : folder_(std::move(folder)), command_(command), files_(std::move(files))
{
}

void RecordedProcesses::look(std::chrono::milliseconds wait, int wake)
{
    find();
    std::vector<pollfd> handles{{.fd = wake, .events = POLLIN, .revents = 0},
                                {.fd = files_ ? files_->descriptor() : -1, .events = POLLIN, .revents = 0}};
    for (const auto& [pid, process] : running_)
        handles.push_back({.fd = process.handle.get(), .events = POLLIN, .revents = 0});
    poll(handles.data(), handles.size(), static_cast<int>(wait.count()));
    if (files_)
        files_->serve();
    noteEnds();
    followWrites();
}

std::map<std::string, std::string> RecordedProcesses::unrecorded() const
{
    if (!files_)
        return {};
    // A process that was killed meanwhile may have asked before. Others may ask without end.
    constexpr int kMostTurns = 100;
    pollfd asked{.fd = files_->descriptor(), .events = POLLIN, .revents = 0};
    for (int turn = 0; turn < kMostTurns && poll(&asked, 1, 0) > 0; ++turn)
        files_->serve();
    return files_->ends();
}

void RecordedProcesses::find()
{
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
        if (entry.path().extension() != kWorking || known_.contains(entry.path()))
            continue;
        const record::ProcessFacts facts = record::firstFactsOf(entry.path());
        if (facts.empty())
            continue; // being written now
        auto [pid, handle] = processOf(facts);
        known_[entry.path()] = pid;
        if (!handle)
            continue;
        Process& process = running_[pid];
        process.handle = std::move(handle);
        process.files.push_back(entry.path());
        lastEvent_ = std::chrono::steady_clock::now();
    }
}

void RecordedProcesses::noteEnds()
{
    std::erase_if(running_, [this](const auto& entry) {
        const auto& [pid, process] = entry;
        if (!hasEnded(process.handle))
            return false;
        if (const auto status = pid == command_ ? std::nullopt : statusOf(process.handle))
            for (const fs::path& file : process.files)
                record::noteEnd(file, record::endText(*status));
        return true;
    });
}

void RecordedProcesses::followWrites()
{
    std::uintmax_t bytes = 0;
    std::error_code error;
    for (const auto& [pid, process] : running_)
        for (const fs::path& file : process.files)
            if (const std::uintmax_t size = fs::file_size(file, error); !error)
                bytes += size;
    if (std::exchange(bytes_, bytes) < bytes)
        lastEvent_ = std::chrono::steady_clock::now();
}

void RecordedProcesses::noteCommandEnd(int status)
{
    find();
    running_.erase(command_);
    for (const auto& [file, pid] : known_)
        if (pid == command_)
            record::noteEnd(file, record::endText(status));
}

std::vector<int> RecordedProcesses::running() const
{
    std::vector<int> pids;
    for (const auto& [pid, process] : running_)
        if (!hasEnded(process.handle) && !record::isFinished(process.files.back()))
            pids.push_back(pid);
    return pids;
}

std::vector<int> RecordedProcesses::silent(Programs programs) const
{
    const std::string variable = "TILESCOPE_RECORD_FOLDER=" + folder_.string();
    std::vector<int> pids;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
        const auto pid = parseNumber<std::int32_t>(entry.path().filename().string());
        if (!pid || *pid == getpid() ||
            std::ranges::any_of(known_, [&](const auto& known) { return known.second == *pid; }))
            continue;
        const std::vector<std::string> environment = record::wordsOfFile(entry.path() / "environ");
        if (std::ranges::find(environment, variable) != environment.end() &&
            (programs == Programs::All || runsPython(record::wordsOfFile(entry.path() / "cmdline")) ||
             hasRecorder(entry.path())))
            pids.push_back(*pid);
    }
    return pids;
}

bool hasRecorder(const fs::path& process)
{
    std::ifstream in(process / "maps");
    for (std::string line; std::getline(in, line);)
        if (line.find("/libtilescope_record.so") != std::string::npos)
            return true;
    return false;
}

ProcessWatch::ProcessWatch(RecordedProcesses processes)
    : processes_(std::move(processes)), wake_(eventfd(0, EFD_CLOEXEC))
{
    try {
        thread_ = std::thread([this] {
            pollfd state{.fd = wake_.get(), .events = POLLIN, .revents = 0};
            do
                processes_.look(kLookPeriod, wake_.get());
            while (poll(&state, 1, 0) == 0);
        });
    } catch (const std::system_error&) {
        // At the limit of threads, processes are looked for only when the command has ended.
    }
}

RecordedProcesses& ProcessWatch::stop()
{
    if (thread_.joinable()) {
        eventfd_write(wake_.get(), 1);
        thread_.join();
    }
    return processes_;
}

} // namespace tilescope::cli
