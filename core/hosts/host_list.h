#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

enum class HostKind {
    Ssh,   ///< work starts at once
    Slurm, ///< a login node: work is submitted with sbatch
};

/// Another machine, as the user configured it.
struct Host {
    static constexpr int kUsualTasks = 16;
    static constexpr int kMostTasks = 64;

    std::string name;
    HostKind kind = HostKind::Ssh;
    std::string address = {};             ///< what ssh connects to: a name of ~/.ssh/config, or USER@HOST
    std::vector<std::string> setUp = {};  ///< lines for bash before anything runs there: `module load cuda`
    std::vector<std::string> sbatch = {}; ///< options of sbatch: `--partition=gpu`
    int tasks = kUsualTasks;              ///< of Slurm, into which a sweep is divided at most
    bool isLocal = false;                 ///< this machine, which submits to Slurm itself; without ssh
    bool isStored = true;                 ///< in the user's list; false: only in ~/.ssh/config
};

/// Letters, digits and `._-`, at most 64, and no dash or full stop in front.
bool isHostName(std::string_view text);

/// \throws Error (Usage)  `text` is not HOST or USER@HOST of letters, digits and `._-`, or begins with a dash
void requireAddress(std::string_view text);

/// The hosts of the user: a file with mode 0600 in $XDG_CONFIG_HOME/tilescope, otherwise ~/.config/tilescope. One thread.
class HostList {
public:
    /// \throws Error  the file is damaged, or others may write it
    explicit HostList(std::filesystem::path file, std::filesystem::path sshConfig = {});
    static HostList ofUser();

    const std::vector<Host>& hosts() const { return hosts_; }
    /// Names of ~/.ssh/config without wildcards that are not in the list.
    const std::vector<std::string>& sshNames() const { return sshNames_; }

    /// A host of the list, otherwise a name of ~/.ssh/config.
    std::optional<Host> find(std::string_view name) const;
    /// \throws Error (Usage)  neither has it; names the most similar one
    Host get(std::string_view name) const;

    /// Adds a host, or replaces the one of the same name.
    /// \throws Error (Usage)  its name or address is unusable, a line has control characters, or its parts contradict
    void add(Host host);
    /// \throws Error (Usage)  the list does not have it
    void remove(std::string_view name);
    /// Writes the file whole or not at all.
    /// \throws Error  it cannot be written
    void save() const;

private:
    void read();

    std::filesystem::path file_;
    std::vector<Host> hosts_;
    std::vector<std::string> sshNames_;
};

/// The names that `Host` lines of an OpenSSH configuration give, without patterns, and those of files that it includes.
/// Empty if it cannot be read.
std::vector<std::string> namesOfSshConfig(const std::filesystem::path& file);

} // namespace tilescope::hosts
