#include "core/hosts/started_work.h"

#include "core/base/error.h"
#include "core/hosts/host_list.h"
#include "core/hosts/job_folder.h"
#include "core/hosts/json_fields.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// Takes the lock of a file; none if another program has it, or there is no file.
FileDescriptor locked(const fs::path& file, int flags)
{
    FileDescriptor descriptor{open(file.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (descriptor && flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0)
        descriptor.reset();
    return descriptor;
}

} // namespace

void StartedWork::keep(const fs::path& folder)
{
    std::error_code error;
    fs::create_directories(folder, error);
    fs::permissions(folder, fs::perms::owner_all, error);
    note_ = folder / (id + ".lock");
    lock_ = locked(note_, O_RDWR | O_CREAT);
    if (!lock_)
        throw Error{.what = "cannot be written",
                    .where = note_.string(),
                    .remedy = "check the space and the permissions of the cache, or set XDG_CACHE_HOME",
                    .kind = ErrorKind::Failure};
    JobFolder(folder).write(
        (id + ".json").c_str(),
        Json{{"host", host}, {"name", name}, {"file", file.string()}, {"points", points}}.dump(
            -1, ' ', false, Json::error_handler_t::replace));
}

void StartedWork::forget()
{
    if (note_.empty())
        return;
    std::error_code ignored;
    fs::remove(fs::path(note_).replace_extension(".json"), ignored);
    fs::remove(note_, ignored);
    lock_.reset();
}

std::vector<StartedWork> StartedWork::of(const fs::path& folder)
{
    std::vector<std::pair<fs::file_time_type, StartedWork>> found;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
        if (entry.path().extension() != ".json")
            continue;
        StartedWork work;
        work.note_ = fs::path(entry.path()).replace_extension(".lock");
        work.lock_ = locked(work.note_, O_RDWR | O_CREAT);
        const Json note = Json::parse(textOfFile(entry.path()), nullptr, false);
        if (!work.lock_ || !note.is_object())
            continue;
        work.id = entry.path().stem();
        work.host = textIn(note, "host");
        work.name = textIn(note, "name");
        work.file = textIn(note, "file");
        work.points = textIn(note, "points");
        if (isHostName(work.host) && work.file.is_absolute())
            found.emplace_back(entry.last_write_time(none), std::move(work));
    }
    std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
    std::vector<StartedWork> works;
    for (auto& [time, work] : found)
        works.push_back(std::move(work));
    return works;
}

} // namespace tilescope::hosts
