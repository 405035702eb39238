#include "core/exchange/import/cache_index.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "core/base/paths.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostDigests = 2000;

std::int64_t sinceEpoch(const timespec& time)
{
    constexpr std::int64_t kSecond = 1'000'000'000;
    return time.tv_sec * kSecond + time.tv_nsec;
}

} // namespace

SideLock::SideLock(const fs::path& side, Kind kind)
{
    while (!take(side, kind == Kind::Shared ? LOCK_SH : LOCK_EX)) {
        // The previous holder removed the file: create it again.
    }
}

std::unique_ptr<SideLock> SideLock::tryToTake(const fs::path& side)
{
    std::unique_ptr<SideLock> lock(new SideLock);
    if (lock->take(side, LOCK_EX | LOCK_NB))
        return lock;
    return nullptr;
}

bool SideLock::take(const fs::path& side, int operation)
{
    constexpr mode_t kPrivate = 0600;
    side_ = side;
    descriptor_ = open(side.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate);
    if (descriptor_ < 0)
        throw Error{.what = std::string("cannot be written (") + std::strerror(errno) + ")",
                    .where = side.string(),
                    .remedy = "check the folder and the space on its disk",
                    .kind = ErrorKind::Failure};
    int result = 0;
    do
        result = flock(descriptor_, operation);
    while (result != 0 && errno == EINTR);
    // Filesystems without locks return another error: there, the user keeps processes apart.
    const bool refused = result != 0 && errno == EWOULDBLOCK;
    if (!refused && isSameFile(descriptor_, side))
        return true;
    close(descriptor_);
    descriptor_ = -1;
    return false;
}

SideLock::~SideLock()
{
    if (descriptor_ < 0)
        return;
    // Those who wait for the lock meanwhile notice that the file is gone and create a new one.
    if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 && isSameFile(descriptor_, side_))
        unlink(side_.c_str());
    close(descriptor_);
}

FileStamp stampOf(const fs::path& file)
{
    struct stat status {};
    if (stat(file.c_str(), &status) != 0)
        throw Error{.what = std::string("cannot be read (") + std::strerror(errno) + ")",
                    .where = file.string(),
                    .remedy = "check the path"};
    return {static_cast<std::int64_t>(status.st_dev), static_cast<std::int64_t>(status.st_ino),
            status.st_size, sinceEpoch(status.st_mtim), sinceEpoch(status.st_ctim)};
}

CacheIndex::CacheIndex(fs::path file) : file_(std::move(file))
{
    std::ifstream in(file_);
    if (!in)
        return;
    try {
        const nlohmann::json index = nlohmann::json::parse(in);
        for (const auto& [key, entry] : index.at("entries").items())
            entries[key] = {entry.at("name"), entry.at("used")};
        for (const nlohmann::json& each : index.at("digests"))
            digests_.push_back({each.at("stamp"), each.at("sha256")});
    } catch (const nlohmann::json::exception&) { // damaged: it only saves time
        entries.clear();
        digests_.clear();
    }
}

void CacheIndex::save() const
{
    nlohmann::json index{{"entries", nlohmann::json::object()}, {"digests", nlohmann::json::array()}};
    for (const auto& [key, entry] : entries)
        index["entries"][key] = {{"name", entry.name}, {"used", entry.usedUnixNs}};
    for (const Digest& each : digests_)
        index["digests"].push_back({{"stamp", each.stamp}, {"sha256", each.digest}});
    writeOutput(file_, index.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

std::optional<std::string> CacheIndex::digestOf(const FileStamp& stamp) const
{
    const auto found = std::ranges::find(digests_, stamp, &Digest::stamp);
    return found == digests_.end() ? std::nullopt : std::optional(found->digest);
}

void CacheIndex::addDigest(const FileStamp& stamp, const std::string& digest)
{
    std::erase_if(digests_, [&](const Digest& each) {
        return each.stamp[0] == stamp[0] && each.stamp[1] == stamp[1]; // an earlier state of the file
    });
    if (digests_.size() >= kMostDigests)
        digests_.erase(digests_.begin());
    digests_.push_back({stamp, digest});
}

} // namespace tilescope::exchange
