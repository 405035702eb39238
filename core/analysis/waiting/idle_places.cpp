#include "core/analysis/waiting/idle_places.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace tilescope::analysis {

namespace {

/// What one thread noted, in order of time.
struct ThreadSamples {
    std::vector<HostSample> launches;
    std::vector<HostSample> between;
};

class Reading {
public:
    Reading(const HostSamples& samples, std::span<const CudaCall> calls)
    {
        for (const SampledHostThread& thread : samples.threads) {
            ThreadSamples& own = threads_[thread.thread];
            for (const HostSample& sample : thread.samples)
                (sample.isLaunch() ? own.launches : own.between).push_back(sample);
            if (own.between.size() > most_) {
                most_ = own.between.size();
                main_ = thread.thread;
            }
        }
        for (const CudaCall& call : calls)
            calls_[call.thread].push_back(call);
        for (auto& [thread, own] : calls_)
            std::ranges::stable_sort(own, {}, &CudaCall::start);
    }

    /// Adds an idle interval that work ends.
    void add(Timestamp from, Timestamp to, const LaunchedWork& work, IdleTime& idle)
    {
        ++idle.intervals;
        idle.total += to - from;
        if (!work.launched) {
            idle.unknown += to - from;
            return;
        }
        if (*work.launched <= from) {
            idle.queued += to - from;
            return;
        }
        const Timestamp launch = std::min(*work.launched, to);
        idle.launching += to - launch;
        addPlace(from, launch, placeOf(work.thread, *work.launched, idle), work.name, idle);
    }

    /// Adds the time after all work, in which the thread that launched the last launches nothing more.
    void addAfter(Timestamp from, Timestamp to, const LaunchedWork& last, IdleTime& idle)
    {
        ++idle.intervals;
        idle.total += to - from;
        if (last.launched)
            addPlace(from, to, placeOf(last.thread, to, idle), {}, idle);
        else
            idle.unknown += to - from;
    }

private:
    void addPlace(Timestamp from, Timestamp to, std::uint32_t number, StringId endedBy, IdleTime& idle)
    {
        IdlePlace& place = idle.places[number];
        place.host += to - from;
        place.times.push_back(to - from);
        if (to - from > place.longest) {
            place.longest = to - from;
            place.endedBy = endedBy;
        }
        addHost(from, to, number, idle);
    }

    /// The place that ends at `launched`.
    std::uint32_t placeOf(ThreadId thread, Timestamp launched, IdleTime& idle)
    {
        std::uint32_t before = kNoStack;
        std::uint32_t after = kNoStack;
        if (const auto own = threads_.find(thread); own != threads_.end()) {
            const std::vector<HostSample>& launches = own->second.launches;
            const auto at = std::ranges::lower_bound(launches, launched, {}, &HostSample::time);
            if (at != launches.end() && at->time == launched)
                after = at->stack;
            if (at != launches.begin())
                before = std::prev(at)->stack;
        }
        const auto [place, isNew] =
            places_.try_emplace({thread, before, after}, static_cast<std::uint32_t>(idle.places.size()));
        if (isNew)
            idle.places.push_back({.thread = thread, .before = before, .after = after});
        return place->second;
    }

    /// The host's part of an idle interval: calls, and samples between them.
    void addHost(Timestamp from, Timestamp to, std::uint32_t place, IdleTime& idle)
    {
        SampledInterval interval{.place = place, .first = static_cast<std::uint32_t>(idle.hits.size())};
        const ThreadId thread = idle.places[place].thread;
        Timestamp at = from;
        if (const auto own = calls_.find(thread); own != calls_.end()) {
            const std::vector<CudaCall>& calls = own->second;
            // The calls of a thread follow each other, except that one may contain others.
            auto call = std::ranges::lower_bound(calls, from, {}, &CudaCall::start);
            while (call != calls.begin() && std::prev(call)->end > from)
                --call;
            for (; call != calls.end() && call->start < to; ++call) {
                const Timestamp start = std::max(call->start, at);
                const Timestamp end = std::min(call->end, to);
                if (end <= start)
                    continue;
                addSamples(at, start, place, idle);
                addCall(place, call->name, end - start, idle);
                at = end;
            }
        }
        addSamples(at, to, place, idle);
        interval.count = static_cast<std::uint32_t>(idle.hits.size()) - interval.first;
        idle.sampled.push_back(interval);
    }

    void addCall(std::uint32_t place, std::uint32_t name, Nanoseconds time, IdleTime& idle)
    {
        const auto [known, isNew] = callIndex_.try_emplace({place, name}, idle.calls.size());
        if (isNew)
            idle.calls.push_back({.place = place, .name = name});
        idle.calls[known->second].time += time;
        ++idle.calls[known->second].count;
    }

    void addSamples(Timestamp from, Timestamp to, std::uint32_t place, IdleTime& idle)
    {
        if (to <= from)
            return;
        idle.places[place].sampled += to - from;
        auto own = threads_.find(idle.places[place].thread);
        // A thread that runs no Python, such as autograd's, works for one that waits for it.
        if (own == threads_.end() || own->second.between.empty())
            own = threads_.find(main_);
        if (own == threads_.end())
            return;
        const std::vector<HostSample>& between = own->second.between;
        for (auto sample = std::ranges::lower_bound(between, from, {}, &HostSample::time);
             sample != between.end() && sample->time < to; ++sample) {
            idle.hits.push_back(*sample);
            idle.lateHits += (sample->state & SampleState::kLate) != 0 ? 1 : 0;
        }
    }

    std::map<ThreadId, ThreadSamples> threads_;
    std::map<ThreadId, std::vector<CudaCall>> calls_;
    ThreadId main_ = {}; ///< with most samples
    std::size_t most_ = 0;
    std::map<std::tuple<ThreadId, std::uint32_t, std::uint32_t>, std::uint32_t> places_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> callIndex_;
};

/// Places that share their samples.
struct Pool {
    Nanoseconds sampled{0};
    std::int64_t samples = 0;
    std::vector<std::uint32_t> places = {};
};

/// Pools of places, each with enough samples; one more at the end of the others, which have too few.
class Pools {
public:
    Pools(const IdleTime& idle, std::span<const HostStack> stacks) : poolOf_(idle.places.size(), kNone)
    {
        std::vector<std::int64_t> samples(idle.places.size(), 0);
        for (const SampledInterval& interval : idle.sampled)
            samples[interval.place] += interval.count;
        std::vector<std::uint32_t> left;
        for (std::uint32_t i = 0; i < idle.places.size(); ++i)
            left.push_back(i);
        using Key = std::tuple<ThreadId, std::uint32_t, std::uint32_t>;
        const auto join = [&](const std::function<Key(std::uint32_t)>& keyOf) {
            std::map<Key, Pool> found;
            for (const std::uint32_t place : left) {
                Pool& pool = found[keyOf(place)];
                pool.sampled += idle.places[place].sampled;
                pool.samples += samples[place];
                pool.places.push_back(place);
            }
            left.clear();
            for (auto& [key, pool] : found) {
                if (pool.samples < kLeastSamples) {
                    left.insert(left.end(), pool.places.begin(), pool.places.end());
                    continue;
                }
                for (const std::uint32_t place : pool.places)
                    poolOf_[place] = static_cast<std::uint32_t>(pools_.size());
                pools_.push_back(std::move(pool));
            }
        };
        join([](std::uint32_t place) { return Key{ThreadId{}, place, 0}; });
        join([&](std::uint32_t place) {
            const IdlePlace& each = idle.places[place];
            return Key{each.thread, commonCaller(stacks, each.before, each.after), 0};
        });
        join([&](std::uint32_t place) { return Key{idle.places[place].thread, 0, 0}; });
        for (const std::uint32_t place : left)
            unresolved_ += idle.places[place].sampled;
    }

    static constexpr std::uint32_t kNone = ~0U;
    std::uint32_t of(std::uint32_t place) const { return poolOf_[place]; }
    const std::vector<Pool>& all() const { return pools_; }
    Nanoseconds unresolved() const { return unresolved_; }

private:
    std::vector<std::uint32_t> poolOf_;
    std::vector<Pool> pools_;
    Nanoseconds unresolved_{0};
};

/// Sums over the intervals of a pool with samples, from which the variance of a share follows: `n` samples, of which `k`
/// have the value.
struct Clusters {
    std::int64_t intervals = 0;
    double n = 0;
    double nn = 0;
    double late = 0; ///< samples whose wake-up was late
};
struct Tally {
    double k = 0;
    double kk = 0;
    double kn = 0;
    double late = 0;
};

constexpr double kZ = 1.959963984540054;
constexpr std::int64_t kFewIntervals = 30;
constexpr double kLeastScale = 0.25; // equal intervals have equal samples, by accident
/// The error of a share by late samples is at most this part of their share, in programs whose times were known.
constexpr double kErrorOfLate = 0.7;

/// The distances of the bounds of a share from it.
std::pair<double, double> distancesOf(const Clusters& clusters, const Tally& tally)
{
    const double n = clusters.n;
    const double p = tally.k / n;
    // Wilson's interval, which supposes that samples are independent.
    const double centre = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
    const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
    std::pair<double, double> distances{p - (centre - half), centre + half - p};
    // A late sample shows what ran when the thread woke up, rather than what kept it from waking up: those of this value may
    // be another's, and those of others this one's, of which there are hardly more than there are samples of it.
    const double notMine = kErrorOfLate * tally.late / n;
    const double mine = kErrorOfLate * std::min(clusters.late - tally.late, tally.k) / n;
    // Errors of sampling and of late samples are independent. std::hypot() would need glibc 2.35.
    const auto joined = [](double a, double b) { return std::sqrt(a * a + b * b); };
    if (clusters.intervals < 2)
        return {joined(distances.first, notMine), joined(distances.second, mine)};
    // Samples of one interval may follow each other in one call: the variance of a ratio over intervals.
    const auto m = static_cast<double>(clusters.intervals);
    const double variance =
        m / (m - 1) * std::max(0.0, tally.kk - 2 * p * tally.kn + p * p * clusters.nn) / (n * n);
    const double binomial = p * (1 - p) / n;
    const double factor = binomial > 0 ? std::sqrt(variance / binomial) : 1;
    // Few intervals tell little of the variance.
    const double scale = std::max(clusters.intervals < kFewIntervals ? 1.0 : kLeastScale, factor);
    return {joined(distances.first * scale, notMine), joined(distances.second * scale, mine)};
}

} // namespace

IdleTime idleTime(std::span<const LaunchedWork> work, const HostSamples& samples,
                  std::span<const CudaCall> calls, std::span<const Interval> windows)
{
    if (work.empty())
        return {};
    // Without windows, time before the first and after the last work is no part of what is asked.
    const Timestamp end = std::ranges::max(work, {}, &LaunchedWork::end).end;
    const Interval whole{work.front().start, end};
    if (windows.empty())
        windows = {&whole, 1};
    IdleTime idle;
    Reading reading(samples, calls);
    auto window = windows.begin();
    // Calls take() with the parts of an interval that lie in windows. The intervals come in order.
    const auto eachPart = [&](Timestamp start, Timestamp end, auto take) {
        while (window != windows.end() && window->end <= start)
            ++window;
        for (auto at = window; at != windows.end() && at->start < end; ++at)
            if (const Interval part{std::max(start, at->start), std::min(end, at->end)};
                part.end > part.start)
                take(part);
    };
    Timestamp coveredUntil = windows.front().start;
    for (const LaunchedWork& each : work) {
        if (each.start > coveredUntil)
            eachPart(coveredUntil, each.start,
                     [&](const Interval& part) { reading.add(part.start, part.end, each, idle); });
        const Timestamp from = std::max(coveredUntil, each.start);
        if (each.end > from)
            eachPart(from, each.end, [&](const Interval& part) { idle.busy += part.length(); });
        coveredUntil = std::max(coveredUntil, each.end);
    }
    if (windows.back().end > end)
        eachPart(std::max(coveredUntil, windows.front().start), windows.back().end,
                 [&](const Interval& part) { reading.addAfter(part.start, part.end, work.back(), idle); });
    return idle;
}

IdleShares sharesOf(const IdleTime& idle, std::span<const HostStack> stacks,
                    const std::function<std::uint32_t(const HostSample&)>& valueOf)
{
    const Pools pools(idle, stacks);
    std::vector<Clusters> clusters(pools.all().size());
    std::map<std::pair<std::uint32_t, std::uint32_t>, Tally> tallies;    // by pool and value
    std::unordered_map<std::uint32_t, std::pair<double, double>> counts; // and of them late
    for (const SampledInterval& interval : idle.sampled) {
        const std::uint32_t pool = pools.of(interval.place);
        if (pool == Pools::kNone || interval.count == 0)
            continue;
        counts.clear();
        for (std::uint32_t i = 0; i < interval.count; ++i) {
            const HostSample& hit = idle.hits[interval.first + i];
            auto& [count, late] = counts[valueOf(hit)];
            ++count;
            if ((hit.state & SampleState::kLate) != 0) {
                ++late;
                ++clusters[pool].late;
            }
        }
        const auto n = static_cast<double>(interval.count);
        ++clusters[pool].intervals;
        clusters[pool].n += n;
        clusters[pool].nn += n * n;
        for (const auto& [value, found] : counts) {
            const double k = found.first;
            Tally& tally = tallies[{pool, value}];
            tally.k += k;
            tally.late += found.second;
            tally.kk += k * k;
            tally.kn += k * n;
        }
    }
    struct Sum {
        IdleShare share;
        double below = 0; // squares of distances
        double above = 0;
    };
    std::map<std::uint32_t, Sum> sums;
    for (const auto& [key, tally] : tallies) {
        const auto& [pool, value] = key;
        const auto time = static_cast<double>(pools.all()[pool].sampled.count());
        const auto [below, above] = distancesOf(clusters[pool], tally);
        Sum& sum = sums[value];
        sum.share.value = value;
        sum.share.time += time * tally.k / clusters[pool].n;
        sum.share.samples += static_cast<std::int64_t>(tally.k);
        sum.below += time * below * time * below;
        sum.above += time * above * time * above;
    }
    IdleShares shares{.unresolved = pools.unresolved()};
    for (auto& [value, sum] : sums) {
        sum.share.interval = {std::max(0.0, sum.share.time - std::sqrt(sum.below)),
                              sum.share.time + std::sqrt(sum.above)};
        shares.shares.push_back(sum.share);
    }
    return shares;
}

namespace {

/// A stack and its callers, outermost first.
std::vector<std::uint32_t> chainOf(std::span<const HostStack> stacks, std::uint32_t stack)
{
    std::vector<std::uint32_t> chain;
    for (; stack != kNoStack; stack = stacks[stack].caller)
        chain.push_back(stack);
    std::ranges::reverse(chain);
    return chain;
}

} // namespace

std::uint32_t commonCaller(std::span<const HostStack> stacks, std::uint32_t a, std::uint32_t b)
{
    const std::vector<std::uint32_t> first = chainOf(stacks, a);
    const std::vector<std::uint32_t> second = chainOf(stacks, b);
    const auto differ = std::ranges::mismatch(first, second).in1;
    return differ == first.begin() ? kNoStack : *std::prev(differ);
}

Divergence divergenceOf(std::span<const HostStack> stacks, std::uint32_t before, std::uint32_t after)
{
    const std::vector<std::uint32_t> first = chainOf(stacks, before);
    const std::vector<std::uint32_t> second = chainOf(stacks, after);
    const auto [a, b] = std::ranges::mismatch(first, second);
    return {a == first.end() ? before : *a, b == second.end() ? after : *b};
}

} // namespace tilescope::analysis
