#include "core/session/resume.h"

#include "core/base/error.h"
#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/store/run_reader.h"

#include <charconv>
#include <optional>
#include <unordered_map>

namespace tilescope::session {

namespace {

bool isDone(RunStatus status)
{
    return status == RunStatus::Ok || status == RunStatus::Oom || status == RunStatus::Skipped;
}

/// A whole number and nothing else; none where the text is not that.
std::optional<std::int64_t> numberFrom(std::string_view text)
{
    std::int64_t number = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? std::optional(number)
                                                                               : std::nullopt;
}

} // namespace

Shard parseShard(std::string_view text)
{
    const std::size_t slash = text.find('/');
    const auto index = numberFrom(text.substr(0, slash));
    const auto count = slash == std::string_view::npos ? std::nullopt : numberFrom(text.substr(slash + 1));
    if (!index || !count || *index < 0 || *index >= *count)
        throw Error{.what = "'" + std::string(text) + "' is no shard",
                    .where = "--shard",
                    .mend = "write I/N with 0 <= I < N: --shard 0/4 … --shard 3/4"};
    return {*index, *count};
}

std::vector<SweepPoint> pointsOf(const Shard& shard, std::vector<SweepPoint> points)
{
    std::erase_if(points, [&](const SweepPoint& point) { return point.index % shard.count != shard.index; });
    return points;
}

std::vector<SweepPoint> pendingPoints(std::vector<SweepPoint> points, const std::filesystem::path& file,
                                      bool force)
{
    std::error_code error;
    if (!std::filesystem::exists(file, error) ||
        (std::filesystem::is_regular_file(file, error) && std::filesystem::file_size(file, error) == 0))
        return points;
    std::unordered_map<std::string, std::int64_t> done; // runs by spec
    std::unordered_map<std::string, std::string> programs;
    for (const store::RunRecord& record : store::RunReader(file).runs())
        if (isDone(record.result.status)) {
            ++done[record.specHash];
            programs[record.specHash] = record.program;
        }
    std::erase_if(points, [&](const SweepPoint& point) {
        const std::string hash = config::specHash(point.spec);
        const auto found = done.find(hash);
        if (found == done.end() || found->second == 0)
            return false;
        if (!force && programs[hash] != programBanner())
            throw Error{.what = "holds points of this sweep that " + programs[hash] + " ran; this is " +
                                programBanner(),
                        .where = file.string(),
                        .mend = "resume with that version, or mix them on purpose with --force"};
        --found->second;
        return true;
    });
    return points;
}

} // namespace tilescope::session
