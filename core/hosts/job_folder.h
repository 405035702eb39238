#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tilescope::hosts {

/// The folder of a job on the machine that runs it: job.json, out, err, pid, status, and a lock that its runner holds.
class JobFolder {
public:
    explicit JobFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}
    /// \throws Error  `id` is not 32 hexadecimal digits
    static JobFolder of(std::string_view id);

    const std::filesystem::path& path() const { return folder_; }
    std::filesystem::path file(const char* name) const { return folder_ / name; }

    bool exists() const;
    /// A living runner holds the lock.
    bool isRunning() const;
    /// How it ended, as JSON; none if it runs or its runner was killed.
    std::optional<std::string> status() const;
    /// It is submitted to Slurm.
    bool isForSlurm() const;
    /// The process group of the work; none before it starts.
    std::optional<pid_t> group() const;
    /// Writes a file whole or not at all, with mode 0600.
    void write(const char* name, std::string_view text) const;

private:
    std::filesystem::path folder_;
};

/// Reads at most 32 MiB; empty if the file cannot be read.
std::string textOfFile(const std::filesystem::path& file);

} // namespace tilescope::hosts
