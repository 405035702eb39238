#include "core/exchange/import/nsys/nsys_report.h"

#include "core/base/error.h"
#include "core/base/search_path.h"
#include "core/base/spawn_settings.h"
#include "core/base/spawn_words.h"
#include "core/base/temporary_path.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::exchange {

namespace {

constexpr int kWatchEveryMs = 200;
constexpr std::size_t kLastWords = 2000;

/// Runs a program and keeps the end of what it says. Its destructor ends it.
class Exporter {
public:
    explicit Exporter(std::vector<std::string> words)
    {
        std::array<int, 2> ends{};
        if (pipe2(ends.data(), O_CLOEXEC) != 0)
            throw Error{.what = std::string("no pipe: ") + std::strerror(errno), .kind = ErrorKind::Failure};
        output_ = ends[0];
        std::vector<std::string> variables = environmentWith({});
        SpawnSettings settings;
        posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&settings.actions, ends[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&settings.actions, ends[1], STDERR_FILENO);
        const int failure = posix_spawn(&pid_, words.front().c_str(), &settings.actions, &settings.attributes,
                                        pointersTo(words).data(), pointersTo(variables).data());
        close(ends[1]);
        if (failure != 0) {
            close(output_);
            throw Error{.what = std::string("cannot be started: ") + std::strerror(failure),
                        .where = words.front(),
                        .kind = ErrorKind::Environment};
        }
    }
    ~Exporter()
    {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            reap();
        }
        close(output_);
    }
    Exporter(const Exporter&) = delete;
    Exporter& operator=(const Exporter&) = delete;

    /// Waits until it ends; false if the watch cancelled. nsys does not say how far it is.
    bool finish(const ImportWatch& watch)
    {
        std::array<char, 4096> buffer{};
        for (;;) {
            pollfd ready{.fd = output_, .events = POLLIN, .revents = 0};
            const int count = poll(&ready, 1, kWatchEveryMs);
            if (watch && !watch(0))
                return false;
            if (count <= 0)
                continue;
            const ssize_t bytes = ::read(output_, buffer.data(), buffer.size());
            if (bytes <= 0)
                break;
            words_.append(buffer.data(), static_cast<std::size_t>(bytes));
            if (words_.size() > 2 * kLastWords)
                words_.erase(0, words_.size() - kLastWords);
        }
        status_ = reap();
        return true;
    }
    bool succeeded() const { return WIFEXITED(status_) && WEXITSTATUS(status_) == 0; }
    /// The last line that it wrote.
    std::string lastLine() const
    {
        std::string_view text = words_;
        while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
            text.remove_suffix(1);
        const std::size_t at = text.find_last_of("\r\n");
        return std::string(at == std::string_view::npos ? text : text.substr(at + 1));
    }

private:
    int reap()
    {
        int status = 0;
        while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pid_ = -1;
        return status;
    }

    pid_t pid_ = -1;
    int output_ = -1;
    int status_ = -1;
    std::string words_;
};

} // namespace

ExportedReport::ExportedReport(const std::filesystem::path& report, const ImportWatch& watch)
    : folder_(newTemporaryFolder("nsys")), database_(folder_.path() / report.stem())
{
    database_ += ".sqlite";
    const std::filesystem::path program = findProgram("nsys");
    if (program.empty())
        throw Error{.what = "only Nsight Systems reads its reports, and `nsys` is not on PATH",
                    .where = report.string(),
                    .remedy = "run `nsys export --type sqlite --include-blobs=true FILE` where it is "
                              "installed, and import the .sqlite file",
                    .kind = ErrorKind::Environment};
    const std::string source = std::filesystem::absolute(report).string();
    // Older versions do not know the option that adds the payloads of NCCL.
    std::string words;
    for (const bool withPayloads : {true, false}) {
        std::vector<std::string> command{program.string(),    "export", "--type",   "sqlite",
                                         "--force-overwrite", "true",   "--output", database_.string()};
        if (withPayloads)
            command.emplace_back("--include-blobs=true");
        command.push_back(source);
        Exporter exporter(std::move(command));
        if (!exporter.finish(watch))
            throw Error{.what = "the import was cancelled", .where = source, .kind = ErrorKind::Failure};
        if (exporter.succeeded() && std::filesystem::exists(database_))
            return;
        words = exporter.lastLine();
    }
    throw Error{.what = "`nsys export` failed: " + words,
                .where = report.string(),
                .remedy = "use a version of Nsight Systems at least as new as the report's",
                .kind = ErrorKind::Failure};
}

} // namespace tilescope::exchange
