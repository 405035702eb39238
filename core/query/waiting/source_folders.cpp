#include "core/query/waiting/source_folders.h"

#include "core/analysis/waiting/host_cause.h"
#include "core/query/runs/run_tables.h"

#include <algorithm>
#include <fstream>
#include <sys/stat.h>
#include <system_error>

namespace tilescope::query {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 8 << 20;

/// "folder:folder" as the recorder writes them.
void addFolders(const std::string& value, std::vector<fs::path>& folders)
{
    for (std::size_t at = 0; at <= value.size();) {
        const std::size_t end = std::min(value.find(':', at), value.size());
        if (end > at)
            folders.emplace_back(value.substr(at, end - at));
        at = end + 1;
    }
}

/// The file that a stack names; none: it is not there.
std::optional<fs::path> find(const SourceFolders& folders, const fs::path& named)
{
    std::error_code ignored;
    if (named.is_absolute())
        return fs::is_regular_file(named, ignored) ? std::optional(named) : std::nullopt;
    // The folders of packages are among the folders.
    const fs::path packages = *named.begin();
    const bool isOfPackage = packages == "site-packages" || packages == "dist-packages";
    const fs::path inside = isOfPackage ? named.lexically_relative(packages) : named;
    for (const fs::path& folder : folders.folders)
        if (fs::is_regular_file(folder / inside, ignored))
            return folder / inside;
    return {};
}

/// Nanoseconds since 1970 when the file was changed last; 0: unknown.
std::int64_t changedAt(const fs::path& file)
{
    struct stat facts {};
    if (stat(file.c_str(), &facts) != 0)
        return 0;
    constexpr std::int64_t kSecond = 1'000'000'000;
    return facts.st_mtim.tv_sec * kSecond + facts.st_mtim.tv_nsec;
}

/// Whether one of the lines from `first` on defines the function: decorators come before it.
bool defines(const std::vector<std::string>& lines, std::size_t first, std::string_view name)
{
    if (name.starts_with('<')) // <module>, <listcomp>: no name in the text
        return first <= lines.size();
    constexpr std::size_t kMostDecorators = 40;
    for (std::size_t i = first; i <= std::min(lines.size(), first + kMostDecorators); ++i)
        if (const std::size_t at = i >= 1 ? lines[i - 1].find(name) : std::string::npos;
            at != std::string::npos) {
            const std::string_view before = std::string_view(lines[i - 1]).substr(0, at);
            if (before.ends_with("def ") || before.ends_with("class "))
                return true;
        }
    return false;
}

} // namespace

SourceFolders sourceFolders(const store::RunReader& reader, RunId run)
{
    SourceFolders folders;
    std::string packages;
    for (const EnvironmentEntry& entry : reader.environment(run)) {
        if (entry.key == "record.folder")
            addFolders(entry.value, folders.folders);
        else if (entry.key == "record.packages")
            packages = entry.value;
    }
    addFolders(packages, folders.folders);
    for (const TracedProcess& process : reader.topology(run).processes)
        if (folders.host.empty())
            folders.host = process.host;
    folders.startedUnixNs = chooseRun(reader, run).startedUnixNs;
    return folders;
}

SourceText sourceOf(const SourceFolders& folders, const std::string& function, const std::string& thisHost)
{
    SourceText source;
    const auto [named, name, first] = analysis::partsOf(function);
    const std::string text(named);
    if (named.empty() || named.starts_with('<')) {
        source.why = (named.empty() ? function : text) + " has no source file.";
        return source;
    }
    const auto file = find(folders, text);
    if (!file) {
        source.why = !folders.host.empty() && folders.host != thisHost
                         ? text + " is not here: the run was recorded on " + folders.host + "."
                     : fs::path(text).is_relative() && folders.folders.empty()
                         ? "The recording does not say in which folder " + text + " is."
                         : text + " is not where it was recorded.";
        return source;
    }
    std::error_code error;
    if (const std::uintmax_t size = fs::file_size(*file, error); error || size > kLargest) {
        source.why = file->string() + " cannot be read, or is too large.";
        return source;
    }
    if (folders.startedUnixNs > 0 && changedAt(*file) > folders.startedUnixNs) {
        source.why = file->string() + " was changed after the run began, so that its lines may be others.";
        return source;
    }
    std::ifstream in(*file, std::ios::binary);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line); line.clear()) {
        if (line.ends_with('\r'))
            line.pop_back();
        lines.push_back(std::move(line));
    }
    if (first < 0 || !defines(lines, static_cast<std::size_t>(first), name)) {
        source.why = file->string() + " does not have " + std::string(name) + " at line " +
                     std::to_string(first) + ": it is not the file that ran.";
        return source;
    }
    source.file = *file;
    source.lines = std::move(lines);
    return source;
}

} // namespace tilescope::query
