#include "core/exchange/import/rules/activity_owners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

namespace tilescope::exchange {

namespace {

/// The share of a device's decided activities that makes a process the owner of the device.
constexpr double kOwnerShare = 0.9;

struct Call {
    std::uint64_t id = 0; ///< correlation
    ProcessIndex process;
    std::int64_t start = 0;
};

struct OpSpan {
    std::uint64_t id = 0; ///< External id
    ProcessIndex process;
    std::int64_t start = 0;
    std::int64_t end = 0;
};

/// The last entries with this id that started up to a time, of a list sorted by id and start.
template <class Entry>
std::span<const Entry> upTo(const std::vector<Entry>& sorted, std::uint64_t id, std::int64_t time)
{
    constexpr std::ptrdiff_t kMost =
        64; // more collide in no recording, and time stays linear in those that are made up
    const auto key = [](const Entry& entry) { return std::pair(entry.id, entry.start); };
    const auto end = std::ranges::upper_bound(sorted, std::pair(id, time), {}, key);
    auto begin = end;
    while (begin != sorted.begin() && end - begin < kMost && std::prev(begin)->id == id)
        --begin;
    return {begin, end};
}

/// How well the caller of an activity is known.
enum class Evidence : std::uint8_t { None, Weak, Strong };

struct Decision {
    ProcessIndex process;
    Evidence evidence = Evidence::None;
};

class OwnerFinder {
public:
    OwnerFinder(const ForeignTrace& trace, ProcessIndex holder, std::span<const ProcessIndex> callers,
                std::span<const ForeignFlow> flows, RuleWork& work)
        : trace_(trace), holder_(holder), callers_(callers.begin(), callers.end()), work_(work)
    {
        for (const ForeignFlow& flow : flows)
            flows_[{flow.device, flow.stream, nanosecondsOf(flow.start)}] = flow.process;
        indexHost();
    }

    ActivityOwners find()
    {
        noteTakenCalls();
        std::vector<Decision> decisions;
        for (std::uint32_t i = 0; i < trace_.activities.size(); ++i) {
            const DeviceRow& row = trace_.activities[i];
            if (!isOfFile(row))
                continue;
            ++work_.rows;
            found_.activities.push_back({i, {}});
            decisions.push_back(decide(row));
            std::map<ProcessIndex, std::int64_t>& votes = votes_[keyOf(row)];
            if (decisions.back().evidence != Evidence::None)
                ++votes[decisions.back().process];
        }
        findDeviceOwners();
        for (std::size_t i = 0; i < decisions.size(); ++i)
            found_.activities[i].process = settle(found_.activities[i].activity, decisions[i]);
        for (const auto& [device, owner] : owners_)
            found_.devices[device] = owner.process;
        return std::move(found_);
    }

private:
    struct Owner {
        ProcessIndex process = {};
        bool isAlone = false;   ///< (nearly) all decided activities are its
        bool isGuessed = false; ///< paired by order only
    };

    void indexHost()
    {
        for (const HostRow& row : trace_.host) {
            const ProcessIndex process = trace_.processOf(row);
            if (!callers_.contains(process))
                continue;
            if ((row.kind == HostKind::ApiCall || row.kind == HostKind::Launch) && row.extra != 0)
                calls_.push_back({row.extra, process, row.start});
            else if (row.kind == HostKind::Op && trace_.ops[row.extra].externalId != 0)
                ops_.push_back({trace_.ops[row.extra].externalId, process, row.start, row.end});
        }
        const auto byId = [](const auto& a, const auto& b) {
            return std::tie(a.id, a.start) < std::tie(b.id, b.start);
        };
        std::ranges::sort(calls_, byId);
        std::ranges::sort(ops_, byId);
    }

    /// The devices of a file, whichever process its importer gave them to.
    std::int32_t keyOf(const DeviceRow& row) const
    {
        return trace_.devices[trace_.streams[row.stream].device].facts.ordinal;
    }

    bool isOfFile(const DeviceRow& row) const
    {
        const ProcessIndex process = trace_.processOf(row);
        return process == holder_ || callers_.contains(process);
    }

    /// Notes the calls whose activity is certain, because no other call can have launched it.
    void noteTakenCalls()
    {
        for (const DeviceRow& row : trace_.activities) {
            if (!isOfFile(row))
                continue;
            const std::vector<Call> calls = callersOf(row);
            if (calls.size() == 1)
                taken_.insert({calls.front().process, calls.front().id, calls.front().start});
        }
    }

    bool isTaken(const Call& call) const { return taken_.contains({call.process, call.id, call.start}); }

    /// The last call of each process before an activity.
    std::vector<Call> callersOf(const DeviceRow& row)
    {
        std::vector<Call> last;
        if (row.correlation == 0)
            return last;
        const std::span<const Call> calls = upTo(calls_, row.correlation, row.start + kEarlyNs);
        for (auto call = calls.rbegin(); call != calls.rend() && last.size() < callers_.size(); ++call) {
            ++work_.comparisons;
            if (std::ranges::find(last, call->process, &Call::process) == last.end())
                last.push_back(*call);
        }
        return last;
    }

    bool matchesOp(const DeviceRow& row, const Call& call)
    {
        const std::uint64_t id = trace_.activityFacts[row.extra].externalId;
        return std::ranges::any_of(upTo(ops_, id, call.start), [&](const OpSpan& op) {
            ++work_.comparisons;
            return op.process == call.process && call.start <= op.end;
        });
    }

    Decision decide(const DeviceRow& row)
    {
        if (!flows_.empty())
            if (const auto flow = flows_.find({keyOf(row), trace_.streams[row.stream].native, row.start});
                flow != flows_.end())
                return {flow->second, Evidence::Strong};
        std::vector<Call> calls = callersOf(row);
        if (calls.empty())
            return {};
        const bool hasOp = trace_.activityFacts[row.extra].externalId != 0;
        std::vector<Call> matching;
        if (hasOp)
            for (const Call& call : calls)
                if (matchesOp(row, call))
                    matching.push_back(call);
        if (matching.size() == 1)
            return {matching.front().process, Evidence::Strong};
        if (matching.empty() && calls.size() == 1)
            return {calls.front().process, Evidence::Weak};
        std::vector<Call>& rest = matching.empty() ? calls : matching;
        // A call launches one activity, unless it launches a graph.
        if (trace_.activityFacts[row.extra].graphNode == 0 &&
            std::ranges::count_if(rest, [this](const Call& call) { return !isTaken(call); }) == 1)
            return {std::ranges::find_if(rest, [this](const Call& call) { return !isTaken(call); })->process,
                    Evidence::Weak};
        // The nearest one, to be settled by the device.
        return {std::ranges::max_element(rest, {}, &Call::start)->process, Evidence::None};
    }

    void findDeviceOwners()
    {
        if (callers_.size() == 1) {
            for (const auto& [device, votes] : votes_)
                owners_[device] = {*callers_.begin(), true, false};
            return;
        }
        std::set<ProcessIndex> idle = callers_;
        std::vector<std::int32_t> open;
        for (const auto& [device, votes] : votes_) {
            std::int64_t all = 0;
            auto most = votes.begin();
            for (auto vote = votes.begin(); vote != votes.end(); ++vote) {
                all += vote->second;
                idle.erase(vote->first);
                if (vote->second > most->second)
                    most = vote;
            }
            if (all == 0)
                open.push_back(device);
            else
                owners_[device] = {most->first, static_cast<double>(most->second) >=
                                                    kOwnerShare * static_cast<double>(all)};
        }
        const bool isOnlyOne = open.size() == 1 && idle.size() == 1;
        auto next = idle.begin();
        for (const std::int32_t device : open)
            if (next != idle.end())
                owners_[device] = {*next++, true, !isOnlyOne};
            else
                owners_[device] = {holder_, false, true};
    }

    ProcessIndex settle(std::uint32_t activity, const Decision& decision)
    {
        const Owner owner = owners_[keyOf(trace_.activities[activity])];
        if (decision.evidence == Evidence::Strong)
            return decision.process;
        if (owner.isAlone) {
            if (owner.isGuessed)
                found_.ambiguous.push_back(activity);
            return owner.process;
        }
        if (decision.evidence == Evidence::Weak)
            return decision.process;
        found_.ambiguous.push_back(activity);
        return decision.process ? decision.process : owner.process;
    }

    const ForeignTrace& trace_;
    ProcessIndex holder_;
    std::set<ProcessIndex> callers_;
    RuleWork& work_;
    std::map<std::tuple<std::int32_t, std::int64_t, std::int64_t>, ProcessIndex>
        flows_; ///< by device, stream, start
    std::vector<Call> calls_;
    std::vector<OpSpan> ops_;
    std::set<std::tuple<ProcessIndex, std::uint64_t, std::int64_t>>
        taken_;                                                          ///< by process, correlation, start
    std::map<std::int32_t, std::map<ProcessIndex, std::int64_t>> votes_; ///< by device
    std::map<std::int32_t, Owner> owners_;
    ActivityOwners found_;
};

} // namespace

ActivityOwners ownersOf(const ForeignTrace& trace, ProcessIndex holder, std::span<const ProcessIndex> callers,
                        std::span<const ForeignFlow> flows, RuleWork& work)
{
    return OwnerFinder(trace, holder, callers, flows, work).find();
}

} // namespace tilescope::exchange
