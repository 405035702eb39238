#pragma once

#include "core/base/file_descriptor.h"
#include "core/record/file_server.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tilescope::cli {

/// The processes of a recorded program that write into its folder: which of them run, and how the others ended. They
/// announce themselves by their working files. Processes of other hosts and containers are not seen. One thread.
class RecordedProcesses {
public:
    /// \param command  the number of the program, whose end the caller sees
    /// \param files    which look() lets answer
    RecordedProcesses(std::filesystem::path folder, int command,
                      std::unique_ptr<record::FileServer> files = nullptr);

    /// Looks for new processes and waits at most so long for the end of one.
    /// \param wake  a descriptor that ends the wait when it can be read; -1: none
    void look(std::chrono::milliseconds wait, int wake = -1);
    /// The command has ended, as waitpid() tells it.
    void noteCommandEnd(int status);
    /// The numbers of those that run and have not ended their recording themselves.
    std::vector<int> running() const;
    /// Python and programs that have loaded the recorder, or all: a shell may start one of those.
    enum class Programs { Recordable, All };
    /// The numbers of programs of this recording that run and have not recorded anything.
    std::vector<int> silent(Programs programs = Programs::Recordable) const;
    /// Why processes were not recorded that could not note it in the folder: the name of their working file, and the reason.
    std::map<std::string, std::string> unrecorded() const;
    /// When one of those that run wrote last, or one was found.
    std::chrono::steady_clock::time_point lastEvent() const { return lastEvent_; }

private:
    struct Process {
        FileDescriptor handle;
        std::vector<std::filesystem::path> files; ///< of each program that the process was (exec)
    };
    void find();
    void noteEnds();
    void followWrites();

    const std::filesystem::path folder_;
    const int command_;
    std::unique_ptr<record::FileServer> files_;
    std::map<std::filesystem::path, int> known_; ///< the process of each file; 0: it is not seen
    std::map<int, Process> running_;
    std::uintmax_t bytes_ = 0;
    std::chrono::steady_clock::time_point lastEvent_ = std::chrono::steady_clock::now();
};

/// Whether a process has loaded the recorder, as a forked child whose recording has not begun.
/// \param process  /proc/PID
bool hasRecorder(const std::filesystem::path& process);

/// Looks from construction to stop(), so that no end of a process is missed while the command runs.
class ProcessWatch {
public:
    explicit ProcessWatch(RecordedProcesses processes);
    ~ProcessWatch() { stop(); }
    ProcessWatch(const ProcessWatch&) = delete;
    ProcessWatch& operator=(const ProcessWatch&) = delete;
    RecordedProcesses& stop();

private:
    RecordedProcesses processes_; // the thread's until stop()
    FileDescriptor wake_;
    std::thread thread_;
};

} // namespace tilescope::cli
