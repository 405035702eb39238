#include "core/hosts/remote_file.h"

#include "core/base/file_descriptor.h"
#include "core/base/sha256.h"
#include "core/base/shell_word.h"
#include "core/hosts/host_list.h"
#include "core/hosts/json_fields.h"
#include "core/hosts/working_parts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kMostFile = std::int64_t{1} << 44; // 16 TiB
constexpr std::size_t kDigestDigits = 64;
constexpr const char* kUnhashed = "?";        // in the place of the digest of a piece that is there
constexpr const char* kPartsFolder = "parts"; // of the working files of a recording, beside its copy

/// The copy of a file in the cache, with the digests of its pieces, which are made when a later fetch compares them.
///
/// The digests lie in a file of their own, which begins with size and time of the copy: what else changed the copy makes
/// them worthless.
class CachedCopy {
public:
    /// \throws Error  the folder cannot be written
    CachedCopy(const fs::path& folder, const std::string& name)
        : file_(folder / name), notes_(folder / ".pieces")
    {
        std::error_code error;
        fs::create_directories(folder, error);
        fs::permissions(folder, fs::perms::owner_all, error);
        lock_ = FileDescriptor{open((folder / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
        if (!lock_)
            fail("cannot be written");
        // A second fetch of the same file waits, and then finds it.
        while (flock(lock_.get(), LOCK_EX) != 0 && errno == EINTR) {
        }
        if (read(part(), partNotes()))
            return;
        if (!read(file_, notes_))
            return;
        fs::copy_file(file_, part(), fs::copy_options::overwrite_existing, error);
        if (error)
            digests_.clear();
    }

    /// Opens the part for writing: after what read() found, or anew.
    void begin()
    {
        if (digests_.empty())
            fs::remove(part());
        fs::remove(partNotes()); // from now on they do not describe the part
        descriptor_ = FileDescriptor{open(part().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
        if (!descriptor_)
            fail("cannot be written");
    }
    void put(std::size_t number, std::string_view bytes)
    {
        std::int64_t at = std::int64_t(number) * kPieceBytes;
        while (!bytes.empty()) {
            const ssize_t count = pwrite(descriptor_.get(), bytes.data(), bytes.size(), at);
            if (count < 0 && errno != EINTR)
                fail("cannot be written");
            bytes.remove_prefix(std::size_t(std::max<ssize_t>(count, 0)));
            at += std::max<ssize_t>(count, 0);
        }
        digests_.resize(std::max(digests_.size(), number + 1));
        digests_[number] = kUnhashed;
    }
    bool has(std::size_t number) const { return number < digests_.size() && !digests_[number].empty(); }
    /// The digests of all pieces that are there; empty: of those that are not.
    /// \throws Stopped
    const std::vector<std::string>& digests(const std::stop_token& stop)
    {
        std::string piece(std::size_t(kPieceBytes), '\0');
        for (std::size_t i = 0; i < digests_.size(); ++i) {
            if (digests_[i] != kUnhashed)
                continue;
            if (stop.stop_requested())
                throw Stopped{};
            const ssize_t count =
                pread(descriptor_.get(), piece.data(), piece.size(), std::int64_t(i) * kPieceBytes);
            digests_[i] =
                count > 0 ? sha256(std::string_view(piece).substr(0, std::size_t(count))) : std::string();
        }
        return digests_;
    }
    /// Keeps what has arrived for the next attempt.
    void keepPart() noexcept
    {
        try {
            note(part(), partNotes());
        } catch (...) { // the next attempt begins anew
        }
    }
    /// The part becomes the copy.
    void finish(std::int64_t size)
    {
        digests_.resize(std::size_t((size + kPieceBytes - 1) / kPieceBytes));
        if (ftruncate(descriptor_.get(), size) != 0)
            fail("cannot be written");
        std::error_code ignored;
        fs::remove(notes_, ignored);
        if (rename(part().c_str(), file_.c_str()) != 0)
            fail("cannot be written");
        note(file_, notes_);
    }

    const fs::path& file() const { return file_; }

private:
    fs::path part() const { return file_.parent_path() / ".part"; }
    fs::path partNotes() const { return file_.parent_path() / ".part-pieces"; }

    [[noreturn]] void fail(const char* what) const
    {
        throw Error{.what = std::string(what) + " (" + std::strerror(errno) + ")",
                    .where = file_.string(),
                    .remedy = "check the space and the permissions of the cache, or set XDG_CACHE_HOME",
                    .kind = ErrorKind::Failure};
    }
    static std::string stampOf(const fs::path& file)
    {
        struct stat facts {};
        if (stat(file.c_str(), &facts) != 0)
            return {};
        return std::to_string(facts.st_size) + ' ' + std::to_string(facts.st_mtim.tv_sec) + '.' +
               std::to_string(facts.st_mtim.tv_nsec);
    }
    bool read(const fs::path& of, const fs::path& notes)
    {
        digests_.clear();
        std::ifstream stream(notes);
        std::string line;
        const std::string stamp = stampOf(of);
        if (stamp.empty() || !std::getline(stream, line) || line != stamp)
            return false;
        while (std::getline(stream, line))
            digests_.push_back(line.size() == kDigestDigits || line == kUnhashed ? line : "");
        return true;
    }
    void note(const fs::path& of, const fs::path& notes) const
    {
        std::ofstream stream(notes);
        stream << stampOf(of) << '\n';
        for (const std::string& digest : digests_)
            stream << digest << '\n';
    }

    std::vector<std::string> digests_; ///< of pieces; kUnhashed; empty: the piece is not there
    fs::path file_;
    fs::path notes_;
    FileDescriptor lock_;
    FileDescriptor descriptor_;
};

[[noreturn]] void throwDamaged(const RemoteHost& host)
{
    throw Error{.what = "what it sends is damaged",
                .where = host.host().name,
                .remedy = "try again",
                .kind = ErrorKind::Environment};
}

/// One fetch over one connection.
class Fetch {
public:
    Fetch(RemoteHost& host, CachedCopy& copy, const FetchWatch& watch)
        : host_(host), copy_(copy), watch_(watch)
    {
    }

    /// \param source  the members of the request that name the file
    void carryOut(Json source, const std::stop_token& stop)
    {
        source["op"] = "fetch";
        source["known"] = copy_.digests(stop);
        const auto answer = host_.begin(source.dump(-1, ' ', false, Json::error_handler_t::replace));
        next_ = 0;
        parts_.reset();
        size_ = -1; // an earlier connection may have sent a part of another state
        for (;;) {
            const auto frame = answer->next(stop);
            if (!frame)
                throw Stopped{};
            if (frame->type != FrameType::Message) {
                takePiece(*frame);
                continue;
            }
            const Json message = Json::parse(frame->body, nullptr, false);
            if (message.contains("parts")) {
                parts_ = workingPartsIn(frame->body);
                return;
            }
            if (message.contains("size") && message["size"].is_number_integer() && size_ < 0) {
                size_ = message["size"].get<std::int64_t>();
                isGrowing_ = flagIn(message, "growing");
                if (size_ < 0 || size_ > kMostFile)
                    throwDamaged(host_);
            } else if (message.contains("end")) {
                return end();
            }
        }
    }
    std::int64_t size() const { return size_; }
    std::int64_t received() const { return received_; }
    bool isGrowing() const { return isGrowing_; }
    /// What was answered instead of pieces.
    const std::optional<WorkingParts>& parts() const { return parts_; }

private:
    void takePiece(const Frame& frame)
    {
        constexpr std::size_t kNumber = 8;
        constexpr std::size_t kHead = 2 * kNumber; // and a check
        const std::string_view body = frame.body;
        const std::int64_t left = size_ - std::int64_t(next_) * kPieceBytes;
        const std::int64_t length = std::min(left, kPieceBytes);
        const bool isNext =
            size_ >= 0 && length > 0 && body.size() >= kNumber && fromBigEndian(body) == next_;
        if (!isNext)
            throwDamaged(host_);
        received_ += std::int64_t(body.size());
        const bool isPiece = frame.type == FrameType::Piece &&
                             std::int64_t(body.size()) == length + std::int64_t(kHead) &&
                             fromBigEndian(body.substr(kNumber)) == pieceCheck(body.substr(kHead));
        if (isPiece)
            copy_.put(next_, body.substr(kHead));
        else if (frame.type != FrameType::Same || !copy_.has(next_))
            throwDamaged(host_);
        ++next_;
        if (watch_)
            watch_(
                {Bytes{std::min(std::int64_t(next_) * kPieceBytes, size_)}, Bytes{size_}, Bytes{received_}});
    }
    void end() const
    {
        if (size_ < 0 || std::int64_t(next_) * kPieceBytes < size_)
            throwDamaged(host_);
    }

    RemoteHost& host_;
    CachedCopy& copy_;
    const FetchWatch& watch_;
    std::size_t next_ = 0;
    std::int64_t size_ = -1;
    std::int64_t received_ = 0;
    bool isGrowing_ = false;
    std::optional<WorkingParts> parts_;
};

} // namespace

std::optional<RemotePath> remotePathOf(std::string_view text)
{
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon + 1 == text.size() || !isHostName(text.substr(0, colon)))
        return {};
    std::error_code ignored;
    if (fs::exists(text, ignored))
        return {};
    return RemotePath{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::optional<RemotePath> knownRemotePathOf(std::string_view text)
{
    auto remote = remotePathOf(text);
    std::error_code ignored;
    if (!remote || fs::exists(remote->host, ignored) || !HostList::ofUser().find(remote->host))
        return {};
    return remote;
}

void requireLocalOutput(std::string_view named)
{
    if (!knownRemotePathOf(named))
        return;
    throw Error{.what = "lies on another machine, and output is written on this one",
                .where = std::string(named),
                .remedy = "name a file of this machine; one with a colon in its name is " +
                          shellPath("./" + std::string(named))};
}

namespace {

/// How a fetch is carried out, besides what is fetched.
struct FetchOptions {
    const FetchWatch& watch;
    const std::stop_token& stop;
    int attempts;
    const JoinWorkingFiles& join;
};

/// The folder of the copy of a file.
fs::path copyFolder(const RemoteHost& host, const Json& source, const fs::path& folder)
{
    constexpr std::size_t kDigits = 16;
    return folder / sha256(host.host().address + '\n' + source.dump()).substr(0, kDigits);
}

FetchedFile fetch(RemoteHost& host, const Json& source, const fs::path& folder, const std::string& name,
                  const FetchOptions& options);

/// Fetches the working files of a recording that is still made, and joins them here.
/// \param copy  of the recording
/// \throws Error (Usage)  one of them is not there any more
FetchedFile fetchParts(RemoteHost& host, const WorkingParts& parts, const fs::path& copy,
                       const FetchOptions& options)
{
    const fs::path folder = copy.parent_path() / kPartsFolder;
    FetchedFile joined{.file = {}, .size = {}, .received = {}, .isGrowing = true};
    std::vector<fs::path> files;
    Bytes done;
    const Bytes all = parts.size();
    for (const WorkingPart& part : parts.parts) {
        const FetchWatch watch = [&](const FetchProgress& progress) {
            if (options.watch)
                options.watch(
                    {std::min(done + progress.done, all), all, joined.received + progress.received});
        };
        const Json source{{"path", parts.folder + "/" + part.name}, {"grows", true}};
        const FetchedFile fetched = fetch(host, source, folder, fs::path(part.name).filename(),
                                          {watch, options.stop, options.attempts, {}});
        joined.received += fetched.received;
        done += part.size;
        files.push_back(fetched.file);
    }
    const fs::path together = folder / "together";
    layOut(parts, files, together);
    if (files.empty() || !options.join || !options.join(together, copy))
        return joined;
    std::error_code error;
    joined.size = Bytes{std::int64_t(fs::file_size(copy, error))};
    joined.file = copy;
    return joined;
}

FetchedFile fetch(RemoteHost& host, const Json& source, const fs::path& folder, const std::string& name,
                  const FetchOptions& options)
{
    CachedCopy copy(copyFolder(host, source, folder), name);
    constexpr int kTries = 3;
    for (int tried = 1;; ++tried) {
        copy.begin();
        Fetch fetching(host, copy, options.watch);
        try {
            host.persistently([&] { fetching.carryOut(source, options.stop); }, options.stop,
                              options.attempts);
        } catch (...) {
            copy.keepPart();
            throw;
        }
        if (fetching.parts()) {
            copy.keepPart();
            try {
                return fetchParts(host, *fetching.parts(), copy.file(), options);
            } catch (const Error& error) {
                if (error.kind != ErrorKind::Usage || tried == kTries)
                    throw;
                continue; // the recording has ended meanwhile, and its working files are gone
            }
        }
        copy.finish(fetching.size());
        std::error_code none;
        fs::remove_all(copy.file().parent_path() / kPartsFolder, none);
        return {.file = copy.file(),
                .size = Bytes{fetching.size()},
                .received = Bytes{fetching.received()},
                .isGrowing = fetching.isGrowing()};
    }
}

} // namespace

FetchedFile fetchFile(RemoteHost& host, const std::string& path, const fs::path& folder,
                      const JoinWorkingFiles& join, const FetchWatch& watch, std::stop_token stop)
{
    quotedForHost(path); // refuses control characters
    requireUtf8(path);
    std::string name = fs::path(path).filename();
    if (name.empty() || name.starts_with('.'))
        name = "file" + name;
    return fetch(host, Json{{"path", path}}, folder, name, {watch, stop, kFetchAttempts, join});
}

FetchedFile fetchResult(RemoteHost& host, const std::string& job, const std::string& name,
                        const fs::path& folder, const FetchWatch& watch, std::stop_token stop, int attempts)
{
    return fetch(host, Json{{"job", job}, {"file", name}}, folder, "result.tscope",
                 {watch, stop, attempts, {}});
}

} // namespace tilescope::hosts
