#include "core/hosts/job_folder.h"

#include "core/base/error.h"
#include "core/base/file_descriptor.h"
#include "core/base/number_text.h"
#include "core/base/paths.h"
#include "core/hosts/server.h"
#include "core/hosts/wire.h"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace tilescope::hosts {

namespace fs = std::filesystem;

fs::path jobsFolder()
{
    const fs::path cache = userCacheDirectory();
    if (cache.empty())
        throw Error{.what = "neither XDG_CACHE_HOME nor HOME is set there",
                    .remedy = "set HOME in a set-up line of the host",
                    .kind = ErrorKind::Environment};
    return cache / "jobs";
}

std::string textOfFile(const fs::path& file)
{
    std::string text;
    const FileDescriptor descriptor{open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    std::string piece(std::size_t{64} << 10, '\0');
    while (text.size() < kMostBody) {
        const ssize_t count = read(descriptor.get(), piece.data(), piece.size());
        if (count > 0)
            text.append(piece, 0, std::size_t(count));
        else if (count == 0 || errno != EINTR)
            break;
    }
    return text;
}

JobFolder JobFolder::of(std::string_view id)
{
    constexpr std::size_t kDigits = 32;
    const bool isId =
        id.size() == kDigits && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!isId)
        throw Error{.what = "'" + std::string(id.substr(0, kDigits)) + "' is not the id of a job",
                    .where = "job",
                    .remedy = "tilescope hosts jobs HOST lists them"};
    return JobFolder(jobsFolder() / id);
}

bool JobFolder::exists() const
{
    std::error_code error;
    return fs::exists(file(kJobFile), error);
}

bool JobFolder::isRunning() const
{
    const FileDescriptor lock{open(file("lock").c_str(), O_RDWR | O_CLOEXEC)};
    return lock && flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<std::string> JobFolder::status() const
{
    std::string text = textOfFile(file("status"));
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

bool JobFolder::isForSlurm() const
{
    const auto job = nlohmann::json::parse(textOfFile(file(kJobFile)), nullptr, false);
    return job.is_object() && job.contains("sbatch") && job["sbatch"].is_array();
}

std::optional<pid_t> JobFolder::group() const
{
    return parseNumber<pid_t>(textOfFile(file("pid")));
}

void JobFolder::write(const char* name, std::string_view text) const
{
    const fs::path part = file(name).string() + ".part";
    const auto fail = [&] {
        const int reason = errno;
        unlink(part.c_str());
        throw Error{.what = std::string("cannot be written there (") + std::strerror(reason) + ")",
                    .where = file(name).string(),
                    .remedy = "check the space and the permissions of its folder",
                    .kind = ErrorKind::Failure};
    };
    const FileDescriptor descriptor{open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (!descriptor)
        fail();
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor.get(), text.data(), text.size());
        if (count < 0 && errno != EINTR)
            fail();
        text.remove_prefix(std::size_t(std::max<ssize_t>(count, 0)));
    }
    if (fsync(descriptor.get()) != 0 || rename(part.c_str(), file(name).c_str()) != 0)
        fail();
}

bool isResultOfWork(const fs::path& recording)
{
    std::error_code error;
    return fs::exists(recording.parent_path() / kJobFile, error);
}

} // namespace tilescope::hosts
