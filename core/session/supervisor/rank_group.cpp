#include "core/session/supervisor/rank_group.h"

#include "core/base/error.h"
#include "core/session/protocol/point_line.h"

#include <fmt/format.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tilescope::session {

namespace fs = std::filesystem;

namespace {

/// Maximum wait of a rank for another one in a collective.
constexpr double kLongestWait = 120;

fs::path newFolder()
{
    std::string name = (fs::temp_directory_path() / "tilescope-ranks-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
        throw Error{.what = std::string("no folder for the ranks can be made (") + std::strerror(errno) + ")",
                    .where = name,
                    .mend = "name a writable folder in TMPDIR",
                    .kind = ErrorKind::Environment};
    return name;
}

std::string newMeeting()
{
    static std::atomic<int> meetings{0};
    return fmt::format("/tilescope-{}-{}", getpid(), ++meetings);
}

} // namespace

struct RankGroup::Companion {
    Companion(int number, SweepOptions working, const std::stop_token& stop,
              const std::function<void(const Event&)>& log)
        : rank(number), options(std::move(working)), keeper(options, {}, stop, [this, log](Event&& event) {
              if (const auto* point = std::get_if<PointEvent>(&event))
                  run = RunId{point->run};
              else if (std::holds_alternative<ResultEvent>(event))
                  hasEnded = true;
              else if (auto* text = std::get_if<LogEvent>(&event))
                  log(LogEvent{text->level, fmt::format("rank {}: {}", rank, text->text)});
          })
    {
    }

    int rank;
    SweepOptions options; ///< the keeper refers to it
    EngineKeeper keeper;
    RunId run;
    bool hasEnded = false; ///< the point
};

RankGroup::RankGroup(const SweepPoint& point, const SweepOptions& options, std::stop_token stop,
                     std::function<void(const Event&)> log)
    : stop_(std::move(stop)), log_(std::move(log)), seat_{.rank = 0,
                                                          .size = point.spec.gpus,
                                                          .meeting = newMeeting(),
                                                          .patience = std::chrono::duration<double>(std::min(
                                                              kLongestWait, point.spec.timeoutSeconds / 2))},
      folder_(newFolder())
{
    for (int rank = 1; rank < seat_.size; ++rank) {
        SweepOptions working = options;
        working.file = folder_.path() / fmt::format("rank{}.tscope", rank);
        working.before.clear();
        companions_.push_back(std::make_unique<Companion>(rank, std::move(working), stop_, log_));
        EngineKeeper& keeper = companions_.back()->keeper;
        if (!keeper.start() && !stop_.stop_requested())
            throw Error{.what = fmt::format("rank {} did not start: {}", rank, keeper.howItDied()),
                        .kind = ErrorKind::Failure};
    }
}

RankGroup::~RankGroup()
{
    companions_.clear();
    // Has no effect if all ranks have met.
    shm_unlink(seat_.meeting.c_str());
}

void RankGroup::send(const SweepPoint& point)
{
    for (const auto& companion : companions_) {
        RankSeat seat = seat_;
        seat.rank = companion->rank;
        companion->keeper.send(pointLine({point.index, point.of, point.spec, seat}));
    }
}

std::optional<std::string> RankGroup::poll()
{
    for (const auto& companion : companions_) {
        companion->keeper.poll();
        if (companion->hasEnded || stop_.stop_requested())
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
    if (joined_ || !std::ranges::all_of(companions_, [](const auto& each) { return each->hasEnded; }))
        return {};
    joined_ = true;
    JoinLine join;
    for (const auto& companion : companions_)
        join.ranks.push_back({.rank = companion->rank,
                              .pid = companion->keeper.pid(),
                              .file = companion->options.file,
                              .run = companion->run});
    return session::joinLine(join);
}

} // namespace tilescope::session
