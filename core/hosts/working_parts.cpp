#include "core/hosts/working_parts.h"

#include "core/base/error.h"
#include "core/hosts/json_fields.h"
#include "core/record/process_end.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace tilescope::hosts {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// A name without a folder, of characters that a recorder uses.
bool isPlainName(std::string_view name)
{
    constexpr std::size_t kMostName = 100;
    return !name.empty() && name.size() <= kMostName && !name.starts_with('.') &&
           std::ranges::all_of(name, [](char each) {
               return (each >= '0' && each <= '9') || (each >= 'a' && each <= 'z') ||
                      (each >= 'A' && each <= 'Z') || each == '.' || each == '-' || each == '_';
           });
}

bool isPartName(std::string_view name)
{
    const std::string snapshots = std::string(kSnapshots) + "/";
    return name.starts_with(snapshots) ? isPlainName(name.substr(snapshots.size()))
                                       : isPlainName(name) && name.ends_with(".working");
}

/// It becomes the text of a symbolic link, which must lead nowhere.
bool isEnd(std::string_view end)
{
    return end == record::kRunsElsewhere ||
           ((end.starts_with(record::kExitStatus) || end.starts_with(record::kEndingSignal) ||
             end.starts_with(record::kRecorderStopped)) &&
            end.find('/') == std::string_view::npos);
}

} // namespace

Bytes WorkingParts::size() const
{
    Bytes sum;
    for (const WorkingPart& part : parts)
        sum += part.size;
    return sum;
}

WorkingParts workingPartsIn(std::string_view message)
{
    constexpr std::size_t kMostParts = 4096;
    constexpr std::size_t kMostPath = 4096;
    constexpr std::size_t kMostEnd = 1000;
    constexpr std::int64_t kMostSize = std::int64_t{1} << 44;
    const Json read = Json::parse(message, nullptr, false);
    WorkingParts parts{.folder = textIn(read, "folder", kMostPath), .parts = {}};
    const auto list = read.find("parts");
    if (list == read.end() || !list->is_array())
        return parts;
    for (const Json& each : *list) {
        if (!each.is_object() || parts.parts.size() == kMostParts)
            continue;
        WorkingPart part{.name = textIn(each, "name"),
                         .size = Bytes{std::clamp<std::int64_t>(numberIn(each, "size"), 0, kMostSize)},
                         .end = textIn(each, "end", kMostEnd)};
        if (!isEnd(part.end))
            part.end.clear();
        if (isPartName(part.name))
            parts.parts.push_back(std::move(part));
    }
    return parts;
}

void layOut(const WorkingParts& parts, const std::vector<fs::path>& files, const fs::path& folder)
{
    std::error_code error;
    fs::remove_all(folder, error);
    fs::create_directories(folder / kSnapshots, error);
    for (std::size_t i = 0; i < files.size() && !error; ++i) {
        const fs::path place = folder / parts.parts[i].name;
        fs::create_symlink(files[i], place, error);
        if (!parts.parts[i].end.empty())
            record::noteEnd(place, parts.parts[i].end);
    }
    if (error)
        throw Error{.what = "cannot be written (" + error.message() + ")",
                    .where = folder.string(),
                    .remedy = "check the space and the permissions of the cache, or set XDG_CACHE_HOME",
                    .kind = ErrorKind::Failure};
}

} // namespace tilescope::hosts
