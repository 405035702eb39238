#include "core/session/supervisor/rank_group.h"

#include "core/base/environment_variable.h"
#include "core/base/error.h"
#include "core/base/temporary_path.h"
#include "core/session/protocol/point_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace tilescope::session {

namespace fs = std::filesystem;

namespace {

/// Maximum wait of a rank for another one in a collective.
constexpr double kLongestWait = 120;

/// The folder of the working files: on a disk of this host, or beside the output where all nodes can reach it.
std::unique_ptr<TemporaryPath> newFolder(const fs::path& output, bool hasSeveralNodes)
{
    if (hasSeveralNodes)
        return std::make_unique<TemporaryPath>(fs::absolute(output), TemporaryPath::Kind::Folder);
    return std::make_unique<TemporaryPath>(newTemporaryFolder("ranks"));
}

} // namespace

struct RankGroup::Companion {
    Companion(int number, const RankPlace& where, SweepOptions working, const std::stop_token& stop,
              const std::function<void(const Event&)>& log)
        : rank(number), place(where), options(std::move(working)),
          keeper(
              options, {}, stop, [this, log](Event&& event) { take(std::move(event), log); },
              where.node > 0 ? srunOn(where.node) : std::vector<std::string>())
    {
    }

    void take(Event&& event, const std::function<void(const Event&)>& log)
    {
        if (const auto* point = std::get_if<PointEvent>(&event))
            run = RunId{point->run};
        else if (std::holds_alternative<ResultEvent>(event))
            end();
        else if (auto* text = std::get_if<LogEvent>(&event))
            log(LogEvent{text->level, fmt::format("rank {}: {}", rank, text->text)});
    }

    // On another node the file may be a copy on its disk, which reaches its place when the engine ends.
    void end()
    {
        hasEnded = true;
        if (place.node > 0)
            keeper.closeInput();
    }

    bool isFileComplete() const { return hasEnded && (place.node == 0 || keeper.ended()); }
    bool hasLostFile() const
    {
        return hasEnded && keeper.ended() && place.node > 0 && !keeper.endedInOrder();
    }

    int rank;
    RankPlace place;
    SweepOptions options; ///< the keeper refers to it
    EngineKeeper keeper;
    RunId run;
    bool hasEnded = false; ///< the point
};

RankGroup::RankGroup(const SweepPoint& point, const SweepOptions& options, std::stop_token stop,
                     std::function<void(const Event&)> log)
    : stop_(std::move(stop)), log_(std::move(log)), places_(placesOf(point.spec.gpus, environmentVariable)),
      hub_(places_.back().node > 0 ? std::make_unique<rendezvous::RankHub>() : nullptr),
      rankInfo_{.rank = 0,
                .size = point.spec.gpus,
                .group = memory_.name(),
                .memory = memory_.path(),
                .timeout =
                    std::chrono::duration<double>(std::min(kLongestWait, point.spec.timeoutSeconds / 2)),
                .hub = hub_ ? hub_->address() : HubAddress()},
      folder_(newFolder(options.file, hub_ != nullptr))
{
    rankInfo_ = rankInfoOf(0);
    for (int rank = 1; rank < rankInfo_.size; ++rank) {
        SweepOptions working = options;
        working.file = folder_->path() / fmt::format("rank{}.tscope", rank);
        working.before.clear();
        companions_.push_back(std::make_unique<Companion>(rank, places_[static_cast<std::size_t>(rank)],
                                                          std::move(working), stop_, log_));
        EngineKeeper& keeper = companions_.back()->keeper;
        if (!keeper.start() && !stop_.stop_requested())
            throw Error{.what = fmt::format("rank {} did not start: {}", rank, keeper.howItDied()),
                        .kind = ErrorKind::Failure};
    }
}

RankGroup::~RankGroup()
{
    hub_.reset(); // ends collectives that wait for others
    // All at once: through srun it may take a while.
    for (const auto& companion : companions_)
        if (companion->keeper.present())
            companion->keeper.kill("its point has ended");
    companions_.clear();
}

RankInfo RankGroup::rankInfoOf(int rank) const
{
    const RankPlace& place = places_[static_cast<std::size_t>(rank)];
    RankInfo rankInfo = rankInfo_;
    rankInfo.rank = rank;
    rankInfo.node = place.node;
    rankInfo.localRank = place.localRank;
    rankInfo.localSize = place.localSize;
    return rankInfo;
}

void RankGroup::send(const SweepPoint& point)
{
    for (const auto& companion : companions_)
        companion->keeper.send(pointLine({point.index, point.of, point.spec, rankInfoOf(companion->rank)}));
}

std::optional<std::string> RankGroup::poll()
{
    for (const auto& companion : companions_) {
        companion->keeper.poll();
        if (stop_.stop_requested() || (companion->hasEnded && !companion->hasLostFile()))
            continue;
        if (companion->keeper.fatal())
            return fmt::format("rank {}: {}", companion->rank, companion->keeper.fatal()->what);
        if (companion->keeper.ended())
            return fmt::format("rank {}: {}", companion->rank, companion->keeper.howItDied());
    }
    return {};
}

std::optional<std::string> RankGroup::joinLine()
{
    if (joined_ || !std::ranges::all_of(companions_, [](const auto& each) { return each->isFileComplete(); }))
        return {};
    joined_ = true;
    JoinLine join;
    for (const auto& companion : companions_)
        join.ranks.push_back({.rank = companion->rank,
                              .node = companion->place.node,
                              .localRank = companion->place.localRank,
                              .pid = companion->keeper.pid(),
                              .file = companion->options.file,
                              .run = companion->run});
    return session::joinLine(join);
}

} // namespace tilescope::session
