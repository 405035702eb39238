#include "core/session/supervisor/resume.h"

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/number_text.h"
#include "core/base/version.h"
#include "core/config/schema.h"
#include "core/model/text.h"
#include "core/store/run_reader.h"

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tilescope::session {

namespace {

bool isDone(RunStatus status)
{
    return status == RunStatus::Ok || status == RunStatus::Oom || status == RunStatus::Skipped;
}

void requireThisProgram(const store::RunRecord& run, const std::filesystem::path& file)
{
    if (run.program != programBanner())
        throw Error{.what =
                        "holds points of this sweep that " + run.program + " ran; this is " + programBanner(),
                    .where = file.string(),
                    .remedy = "resume with that version, or mix them on purpose with --force"};
}

/// The runs of a file that need not be repeated, by resolved spec.
class DoneRuns {
public:
    explicit DoneRuns(const store::RunReader& reader) : file_(reader.file())
    {
        for (store::RunRecord& run : reader.runs())
            if (isDone(run.result.status))
                bySpec_[run.specHash].push_back(std::move(run));
    }

    /// Returns each run of a spec once; nullptr if there are no more.
    const store::RunRecord* take(const std::string& specHash)
    {
        const auto found = bySpec_.find(specHash);
        if (found == bySpec_.end() || taken_[specHash] == found->second.size())
            return nullptr;
        return &found->second[taken_[specHash]++];
    }

    /// Rejects runs that would match a point on another device, or if today's new keys are added to their
    /// spec.
    /// \throws Error
    void requireNoneNearly(const std::vector<SweepPoint>& points) const
    {
        std::unordered_set<std::string> specs;
        std::unordered_map<std::string, std::string> devices; // by spec without device
        for (const SweepPoint& point : points) {
            specs.insert(config::specHash(point.spec));
            devices[hashOnAnyDevice(point.spec)] = toText(point.spec.device);
        }
        for (const auto& [hash, runs] : bySpec_) {
            const std::optional<ExperimentSpec> spec =
                specs.contains(hash) ? std::nullopt : config::specOf(runs.front().specJson);
            if (!spec)
                continue;
            if (specs.contains(config::specHash(*spec)))
                requireThisProgram(runs.front(), file_);
            if (const auto found = devices.find(hashOnAnyDevice(*spec)); found != devices.end())
                throw Error{.what = "holds points of this sweep on device " + toText(spec->device) +
                                    "; it now asks for device " + found->second,
                            .where = file_.string(),
                            .remedy = "resume with that device, or mix them on purpose with --force"};
        }
    }

private:
    static std::string hashOnAnyDevice(ExperimentSpec spec)
    {
        spec.device = {};
        return config::specHash(spec);
    }

    const std::filesystem::path file_;
    std::unordered_map<std::string, std::vector<store::RunRecord>> bySpec_;
    std::unordered_map<std::string, std::size_t> taken_;
};

} // namespace

Shard parseShard(std::string_view text)
{
    const std::size_t slash = text.find('/');
    const auto index = parseNumber<std::int64_t>(text.substr(0, slash));
    const auto count =
        slash == std::string_view::npos ? std::nullopt : parseNumber<std::int64_t>(text.substr(slash + 1));
    if (!index || !count || *index < 0 || *index >= *count)
        throw Error{.what = "'" + std::string(text) + "' is not a shard",
                    .where = "--shard",
                    .remedy = "write I/N with 0 <= I < N: --shard 0/4 … --shard 3/4"};
    return {*index, *count};
}

std::vector<SweepPoint> pointsOf(const Shard& shard, std::vector<SweepPoint> points)
{
    std::erase_if(points, [&](const SweepPoint& point) { return point.point % shard.count != shard.index; });
    return points;
}

Remainder remainderOf(std::vector<SweepPoint> points, const std::filesystem::path& file, bool force)
{
    if (!hasContent(file))
        return {std::move(points), {}};
    const store::RunReader reader(file);
    DoneRuns done(reader);
    if (!force)
        done.requireNoneNearly(points);
    Remainder left;
    for (SweepPoint& point : points) {
        const store::RunRecord* run = done.take(config::specHash(point.spec));
        if (!run) {
            left.points.push_back(std::move(point));
            continue;
        }
        if (force)
            continue;
        requireThisProgram(*run, file);
        // One run per device is enough: a sweep that was forced before may have several makers.
        if (Maker& maker = left.before[toText(point.spec.device)]; maker.torch.empty())
            maker = makerOf(run->result.device, reader.environment(run->run));
    }
    return left;
}

} // namespace tilescope::session
