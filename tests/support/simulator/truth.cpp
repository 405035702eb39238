#include "tests/support/simulator/truth.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>

namespace tilescope::simulator {

namespace {

std::vector<Span> unionOf(std::vector<Span> spans)
{
    std::ranges::sort(spans, {}, [](const Span& span) { return std::pair(span.start, span.end); });
    std::vector<Span> merged;
    for (const Span& span : spans)
        if (!merged.empty() && span.start <= merged.back().end)
            merged.back().end = std::max(merged.back().end, span.end);
        else
            merged.push_back(span);
    return merged;
}

Duration lengthWithin(const std::vector<Span>& spans, Span limits)
{
    Duration length{0};
    for (const Span& span : spans)
        length += std::max(Duration(0), std::min(span.end, limits.end) - std::max(span.start, limits.start));
    return length;
}

class TruthFinder {
public:
    TruthFinder(const SimulatedProgram& program, const Execution& execution,
                const std::vector<std::int32_t>& endStreams = {})
        : program_(program), execution_(execution), endStreams_(endStreams)
    {
    }

    Truth find()
    {
        for (std::size_t rank = 0; rank < program_.clocks.size(); ++rank) {
            addRank(rank);
            truth_.endStreams.push_back(endStreamOf(rank));
        }
        addMeetings();
        return std::move(truth_);
    }

    PeriodTruth period(std::size_t rank, Span period) const
    {
        PeriodTruth truth;
        const std::optional<std::uint32_t> last = lastOfPeriod(rank, period.end);
        if (!last)
            throw std::invalid_argument("no work begins or ends at " + std::to_string(period.end.count()));
        addChain(*last, period, truth.path);
        addChain(*last, period, truth.rivalPath, true);
        truth.nearPaths = nearPaths(*last, period, truth.path);
        return truth;
    }

private:
    std::optional<std::uint32_t> lastOfPeriod(std::size_t rank, Duration time) const
    {
        std::optional<std::uint32_t> ending;
        for (const ExecutedWork& work : execution_.works) {
            if (work.rank != rank || work.end == work.start)
                continue;
            if (work.start == time)
                return work.firstPiece;
            if (work.end == time)
                ending = work.piece;
        }
        return ending;
    }

    struct StepEnd {
        StepTruth step;
        std::uint32_t last = 0; ///< the piece that ends with the step
    };

    static void addTime(Work work, Span time, Span limits, WorkTimes& times)
    {
        times[static_cast<std::size_t>(work)] +=
            std::max(Duration(0), std::min(time.end, limits.end) - std::max(time.start, limits.start));
    }

    /// The work of a chain, from its end to where it has been followed.
    struct Chain {
        WorkTimes times{};
        Duration shorter{0}; ///< than the longest one
    };

    /// Whether two chains spend their time alike.
    static bool isLike(const WorkTimes& one, const WorkTimes& other, Span limits)
    {
        constexpr int kAlike = 50; // within one part in so many
        for (std::size_t i = 0; i < kWorks; ++i)
            if (std::chrono::abs(one[i] - other[i]) > limits.length() / kAlike)
                return false;
        return true;
    }

    /// Keeps a chain beside those that reach the same piece.
    static void keep(std::vector<Chain>& chains, const Chain& chain, Span limits)
    {
        constexpr std::size_t kMost = 16;
        for (Chain& each : chains)
            if (isLike(each.times, chain.times, limits)) {
                if (chain.shorter < each.shorter)
                    each = chain;
                return;
            }
        chains.push_back(chain);
        if (chains.size() > kMost)
            chains.erase(std::ranges::max_element(chains, {}, &Chain::shorter));
    }

    /// Chains that are nearly as long as `path` and spend their time otherwise: at any of their pieces, they may follow another reason
    /// than the last one.
    /// \param path  that ends with `piece`
    std::vector<WorkTimes> nearPaths(std::uint32_t piece, Span limits, const WorkTimes& path) const
    {
        using Place = std::pair<Duration, std::uint32_t>; // start and number of a piece
        std::map<Place, std::vector<Chain>, std::greater<>> open{
            {{execution_.pieces[piece].start, piece}, {Chain{}}}};
        std::vector<Chain> ended{{path}};
        while (!open.empty()) {
            const auto place = open.extract(open.begin());
            const Piece& each = execution_.pieces[place.key().second];
            for (Chain& chain : place.mapped()) {
                addTime(each.work, {each.start, each.end}, limits, chain.times);
                if (!each.before || each.start <= limits.start) {
                    keep(ended, chain, limits);
                    continue;
                }
                const auto follow = [&](std::uint32_t before, Work between, Duration earlier) {
                    const Piece& next = execution_.pieces[before];
                    Chain longer{chain.times, chain.shorter + earlier};
                    addTime(between, {next.end, each.start}, limits, longer.times);
                    if (longer.shorter <= kNearlyAsLong)
                        keep(open[{next.start, before}], longer, limits);
                };
                follow(*each.before, each.between, Duration(0));
                // How long a batch takes that is ready is unknown: such a chain counts as no shorter.
                for (const Piece::Rival& rival : each.near)
                    follow(rival.before, rival.between,
                           each.work == Work::Loading ? Duration(0) : rival.earlier);
            }
        }
        std::vector<WorkTimes> paths;
        for (const Chain& chain : ended)
            if (!isLike(chain.times, path, limits))
                paths.push_back(chain.times);
        return paths;
    }

    /// Adds the time of the chain that ends with `piece`, within `limits`.
    void addChain(std::uint32_t piece, Span limits, WorkTimes& times, bool prefersRivals = false) const
    {
        for (;;) {
            const Piece& each = execution_.pieces[piece];
            const auto add = [&](Work work, Duration start, Duration end) {
                addTime(work, {start, end}, limits, times);
            };
            add(each.work, each.start, each.end);
            if (!each.before || each.start <= limits.start)
                return;
            const bool isRival = prefersRivals && each.rival && isOnDevice(each.work);
            const std::uint32_t before = isRival ? each.rival->before : *each.before;
            add(isRival ? each.rival->between : each.between, execution_.pieces[before].end, each.start);
            piece = before;
        }
    }

    void addRank(std::size_t rank)
    {
        std::vector<StepEnd> steps = stepsOf(rank);
        std::vector<Span> busy;
        std::vector<Span> collectives;
        std::vector<Span> others;
        for (const ExecutedWork& work : execution_.works) {
            if (work.rank != rank || work.end == work.start)
                continue;
            busy.push_back({work.start, work.end});
            (work.work == Work::Communication ? collectives : others).push_back(busy.back());
        }
        busy = unionOf(std::move(busy));
        const std::vector<Span> compute = unionOf(others);
        others.insert(others.end(), collectives.begin(), collectives.end());
        const std::vector<Span> either = unionOf(others);
        for (StepEnd& each : steps) {
            StepTruth& step = each.step;
            addChain(each.last, step.wall, step.path);
            addChain(each.last, step.wall, step.rivalPath, true);
            step.nearPaths = nearPaths(each.last, step.wall, step.path);
            step.busy = lengthWithin(busy, step.wall);
            step.exposedCommunication = lengthWithin(either, step.wall) - lengthWithin(compute, step.wall);
            addIdle(rank, busy, each);
            truth_.steps.push_back(step);
        }
    }

    /// The stream that works most for the steps of a rank.
    std::int32_t endStreamOf(std::size_t rank) const
    {
        if (rank < endStreams_.size())
            return endStreams_[rank];
        std::map<std::int32_t, Duration> busyOf;
        for (const ExecutedWork& work : execution_.works)
            if (work.rank == rank && work.step != kNoNumber)
                busyOf[work.stream] += work.end - work.start;
        const auto busiest =
            std::ranges::max_element(busyOf, {}, [](const auto& each) { return each.second; });
        return busiest == busyOf.end() ? 0 : busiest->first;
    }

    std::vector<StepEnd> stepsOf(std::size_t rank) const
    {
        const std::int32_t endStream = endStreamOf(rank);
        std::vector<StepEnd> steps;
        for (const ExecutedRange& range : execution_.ranges) {
            if (range.kind != RangeKind::Step || program_.threads[range.thread].rank != rank)
                continue;
            StepEnd step{.step = {.rank = rank, .number = range.number, .wall = {range.start, range.end}},
                         .last = lastPieceOf(range.thread, range.end)};
            for (const ExecutedWork& work : execution_.works)
                if (work.rank == rank && work.step == range.number && work.stream == endStream &&
                    work.end > step.step.wall.end) {
                    step.step.wall.end = work.end;
                    step.last = work.piece;
                }
            if (!steps.empty())
                step.step.wall.start = std::max(step.step.wall.start, steps.back().step.wall.end);
            step.step.wall.end = std::max(step.step.wall.end, step.step.wall.start);
            steps.push_back(step);
        }
        return steps;
    }

    std::uint32_t lastPieceOf(std::size_t thread, Duration time) const
    {
        const std::vector<std::uint32_t>& pieces = execution_.ofThread[thread];
        const auto after = std::ranges::upper_bound(
            pieces, time, {}, [this](std::uint32_t i) { return execution_.pieces[i].end; });
        return *(after - 1);
    }

    void addIdle(std::size_t rank, const std::vector<Span>& busy, StepEnd& each) const
    {
        StepTruth& step = each.step;
        Duration idleFrom = step.wall.start;
        for (const Span& span : busy) {
            if (span.end <= step.wall.start)
                continue;
            if (span.start >= step.wall.end)
                break;
            if (span.start > idleFrom)
                addChain(firstOf(rank, span.start), {idleFrom, span.start}, step.idle);
            idleFrom = std::max(idleFrom, span.end);
        }
        if (idleFrom < step.wall.end)
            addChain(each.last, {idleFrom, step.wall.end}, step.idle);
    }

    /// The work of a rank that begins at `time`; of a collective, its arrival.
    std::uint32_t firstOf(std::size_t rank, Duration time) const
    {
        for (const ExecutedWork& work : execution_.works)
            if (work.rank == rank && work.start == time && work.end > work.start)
                return work.firstPiece;
        return 0;
    }

    void addMeetings()
    {
        std::map<std::int64_t, std::vector<const ExecutedWork*>> collectives;
        for (const ExecutedWork& work : execution_.works)
            if (work.collective != kNoNumber)
                collectives[work.collective].push_back(&work);
        for (auto& [number, works] : collectives) {
            if (works.size() < 2)
                continue;
            std::ranges::sort(works, {}, [](const ExecutedWork* work) { return work->start; });
            const ExecutedWork& last = *works.back();
            truth_.collectives.push_back({.number = number,
                                          .lastRank = last.rank,
                                          .late = last.start - works[works.size() - 2]->start,
                                          .transfer = last.end - last.start});
        }
    }

    const SimulatedProgram& program_;
    const Execution& execution_;
    const std::vector<std::int32_t> endStreams_;
    Truth truth_;
};

nlohmann::json jsonOf(const WorkTimes& times)
{
    nlohmann::json json = nlohmann::json::object();
    for (std::size_t i = 0; i < kWorks; ++i)
        if (times[i] != Duration(0))
            json[std::string(wordOf(static_cast<Work>(i)))] = times[i].count();
    return json;
}

nlohmann::json jsonOf(const std::vector<WorkTimes>& paths)
{
    nlohmann::json json = nlohmann::json::array();
    for (const WorkTimes& path : paths)
        json.push_back(jsonOf(path));
    return json;
}

} // namespace

Truth truthOf(const SimulatedProgram& program, const Execution& execution,
              const std::vector<std::int32_t>& endStreams)
{
    return TruthFinder(program, execution, endStreams).find();
}

PeriodTruth truthOfPeriod(const SimulatedProgram& program, const Execution& execution, std::size_t rank,
                          Span period)
{
    return TruthFinder(program, execution).period(rank, period);
}

nlohmann::json jsonOf(const PeriodTruth& truth)
{
    return {{"path", jsonOf(truth.path)},
            {"rival_path", jsonOf(truth.rivalPath)},
            {"near_paths", jsonOf(truth.nearPaths)}};
}

nlohmann::json jsonOf(const Truth& truth)
{
    nlohmann::json json{{"steps", nlohmann::json::array()}, {"collectives", nlohmann::json::array()}};
    for (const StepTruth& step : truth.steps)
        json["steps"].push_back({{"rank", step.rank},
                                 {"step", step.number},
                                 {"start", step.wall.start.count()},
                                 {"wall", step.wall.length().count()},
                                 {"path", jsonOf(step.path)},
                                 {"rival_path", jsonOf(step.rivalPath)},
                                 {"near_paths", jsonOf(step.nearPaths)},
                                 {"busy", step.busy.count()},
                                 {"idle", jsonOf(step.idle)},
                                 {"exposed_communication", step.exposedCommunication.count()}});
    for (const CollectiveTruth& collective : truth.collectives)
        json["collectives"].push_back({{"number", collective.number},
                                       {"last_rank", collective.lastRank},
                                       {"late", collective.late.count()},
                                       {"transfer", collective.transfer.count()}});
    return json;
}

} // namespace tilescope::simulator
