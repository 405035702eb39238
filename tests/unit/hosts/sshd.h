#pragma once

#include "tests/support/program.h"
#include "tests/support/temporary_folder.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace tilescope::testing {

/// An OpenSSH server on the loopback interface with keys of its own, and a user's home folder whose ~/.ssh/config knows
/// it as `gpubox`. Programs that it starts have another home, a bare PATH and no Tilescope.
class Sshd {
public:
    Sshd()
    {
        namespace fs = std::filesystem;
        fs::create_directories(home() / ".ssh");
        fs::create_directories(remote());
        fs::create_directory(folder_ / "bin");
        for (const char* key : {"host_key", "user_key"})
            runProgram({"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder_ / key},
                       folder_.path());
        fs::copy_file(folder_ / "user_key.pub", folder_ / "authorized");
        port_ = freePort();
        setForcedCommand("exec env -i HOME=" + remote().string() +
                         " PATH=/usr/bin:/bin SHELL=/bin/sh /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"");
        write("sshd_config",
              "Port " + std::to_string(port_) + "\nListenAddress 127.0.0.1\nHostKey " +
                  (folder_ / "host_key").string() + "\nAuthorizedKeysFile " +
                  (folder_ / "authorized").string() +
                  "\nStrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
                  "UsePAM no\nPidFile none\nForceCommand " +
                  (folder_ / "force").string() + "\n");
        knowHostKey(folder_ / "host_key.pub");
        write("home/.ssh/config", "Host gpubox\n  HostName 127.0.0.1\n  Port " + std::to_string(port_) +
                                      "\n  IdentityFile " + (folder_ / "user_key").string() +
                                      "\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile " +
                                      (folder_ / "known_hosts").string() +
                                      "\n  GlobalKnownHostsFile /dev/null\nHost *.example\n  User nobody\n");
        // ssh takes the home folder of the account, whatever HOME says. Without a terminal it cannot ask.
        write("bin/ssh", "#!/bin/sh\nexec /usr/bin/setsid /usr/bin/ssh -F " +
                             (home() / ".ssh/config").string() + " \"$@\"\n");
        fs::permissions(folder_ / "bin" / "ssh", fs::perms::owner_all);
        start();
    }
    ~Sshd() { stop(); }
    Sshd(const Sshd&) = delete;
    Sshd& operator=(const Sshd&) = delete;

    /// Why there is none; empty: it runs.
    static std::string whyMissing()
    {
        return access(kServer, X_OK) != 0          ? "there is no /usr/sbin/sshd (openssh-server)"
               : access("/usr/bin/ssh", X_OK) != 0 ? "there is no /usr/bin/ssh (openssh-client)"
                                                   : "";
    }

    std::filesystem::path home() const { return folder_ / "home"; }
    std::filesystem::path remote() const { return folder_ / "remote"; }
    std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
    /// What a program of the user needs to see.
    std::map<std::string, std::string> environment() const
    {
        return {{"HOME", home().string()},
                {"PATH", (folder_ / "bin").string() + ":/usr/bin:/bin"},
                {"XDG_RUNTIME_DIR", ""},
                {"XDG_CACHE_HOME", ""},
                {"XDG_CONFIG_HOME", ""},
                {"SSH_ASKPASS", ""},
                {"DISPLAY", ""}};
    }

    void write(const std::string& name, const std::string& text) const
    {
        std::ofstream(folder_ / name) << text;
    }
    /// What runs for every command of a client, as a line of sh.
    void setForcedCommand(const std::string& line) const
    {
        write("force", "#!/bin/sh\ncd " + remote().string() + "\n" + line + "\n");
        std::filesystem::permissions(folder_ / "force", std::filesystem::perms::owner_all);
    }
    void knowHostKey(const std::filesystem::path& publicKey) const
    {
        std::string type;
        std::string key;
        std::ifstream(publicKey) >> type >> key;
        write("known_hosts", "[127.0.0.1]:" + std::to_string(port_) + " " + type + " " + key + "\n");
    }

    void start()
    {
        std::error_code notRoot;
        std::filesystem::create_directories("/run/sshd", notRoot); // as root it insists on this folder
        constexpr int kMostStarts = 50;
        for (int starts = 0; starts < kMostStarts; ++starts) {
            server_ = std::make_unique<Program>(
                std::vector<std::string>{kServer, "-D", "-e", "-f", folder_ / "sshd_config"}, folder_.path());
            while (!server_->hasEnded() && !answers())
                std::this_thread::sleep_for(kPause);
            if (!server_->hasEnded())
                return;
        }
        throw std::runtime_error("sshd does not start: " + server_->wait().err);
    }
    void stop()
    {
        cut();
        if (server_)
            kill(server_->pid(), SIGTERM);
        server_.reset();
        // A process that it had just started may still listen.
        while (answers())
            std::this_thread::sleep_for(kPause);
    }
    /// Kills the server's side of every connection, as when a network goes away. What was started there goes on.
    void cut() const
    {
        if (server_)
            runProgram({"/usr/bin/pkill", "-KILL", "-P", std::to_string(server_->pid())}, folder_.path());
    }

private:
    static constexpr const char* kServer = "/usr/sbin/sshd";
    static constexpr std::chrono::milliseconds kPause{5};

    static sockaddr_in address(int port)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        return address;
    }
    static int freePort()
    {
        const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in any = address(0);
        socklen_t length = sizeof(any);
        bind(descriptor, reinterpret_cast<sockaddr*>(&any), length);
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&any), &length);
        close(descriptor);
        return ntohs(any.sin_port);
    }
    bool answers() const
    {
        const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in server = address(port_);
        const bool connected = connect(descriptor, reinterpret_cast<sockaddr*>(&server), sizeof(server)) == 0;
        close(descriptor);
        return connected;
    }

    TemporaryFolder folder_;
    int port_ = 0;
    std::unique_ptr<Program> server_;
};

} // namespace tilescope::testing
