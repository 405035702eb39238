#include "core/exchange/import/recording/growing_recording.h"

#include "core/record/working_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <vector>

namespace tilescope::exchange {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMark = ".recording-"; // then six characters of mkdtemp

/// The output of a folder with that name; empty: it is not such a name.
fs::path outputOf(const fs::path& folder)
{
    constexpr std::size_t kUnique = 6;
    const std::string name = folder.filename().string();
    const std::size_t mark = name.rfind(kMark);
    if (mark == std::string::npos || mark == 0 || name.size() != mark + kMark.size() + kUnique)
        return {};
    return folder.parent_path() / name.substr(0, mark);
}

} // namespace

std::optional<GrowingRecording> GrowingRecording::of(const fs::path& named)
{
    std::error_code error;
    const fs::path path = fs::absolute(named, error).lexically_normal();
    const fs::path place = path.has_filename() ? path : path.parent_path(); // without a slash at the end
    if (fs::path output = outputOf(place); !output.empty() && fs::is_directory(place, error))
        return GrowingRecording{place, std::move(output)};
    std::optional<GrowingRecording> newest;
    fs::file_time_type since;
    for (const fs::directory_entry& entry : fs::directory_iterator(place.parent_path(), error)) {
        if (outputOf(entry.path()) != place || !entry.is_directory(error))
            continue;
        const fs::file_time_type changed = entry.last_write_time(error);
        if (!newest || changed > since) {
            newest = GrowingRecording{entry.path(), place};
            since = changed;
        }
    }
    return newest;
}

std::optional<std::uintmax_t> GrowingRecording::bytes() const
{
    std::error_code error;
    fs::directory_iterator files(folder, error);
    if (error)
        return {};
    std::uintmax_t bytes = 0;
    for (const fs::directory_entry& entry : files)
        if (const std::uintmax_t size = entry.file_size(error); !error)
            bytes += size;
    return bytes;
}

std::optional<ImportResult> GrowingRecording::importInto(const fs::path& file, const ImportWatch& watch) const
{
    std::vector<fs::path> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.is_regular_file(error) && entry.file_size(error) > record::kWorkingFileLine.size())
            files.push_back(entry.path());
    if (files.empty())
        return {};
    std::ranges::sort(files);
    const fs::path next = file.string() + ".next";
    fs::remove(next, error);
    ImportResult result = importFiles(files, next, watch, output.filename().string());
    fs::rename(next, file);
    return result;
}

} // namespace tilescope::exchange
