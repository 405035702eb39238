#include "core/analysis/ranks/gather_slack.h"

#include "core/analysis/time/path_glob.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilescope::analysis {

namespace {

constexpr std::string_view kFsdpGather = "FSDP::all_gather";
constexpr std::string_view kFsdpCopyOut = "FSDP::all_gather_copy_out";

/// The module in the last component of `path` that begins with `annotation`: `b.0` in "FSDP::all_gather
/// (b.0)". Empty if the component names no module (the whole model); none if there is no such component.
std::optional<std::string_view> annotatedModule(std::string_view path, std::string_view annotation)
{
    const std::size_t at = path.rfind(annotation);
    if (at == std::string_view::npos)
        return {};
    std::string_view rest = path.substr(at + annotation.size());
    rest = rest.substr(0, rest.find('/'));
    if (rest.empty())
        return rest;
    if (!rest.starts_with(" (") || !rest.ends_with(')'))
        return {};
    return rest.substr(2, rest.size() - 3);
}

bool liesIn(std::string_view module, std::string_view outer)
{
    return !outer.empty() && module.starts_with(outer) &&
           (module.size() == outer.size() || module[outer.size()] == '/');
}

/// Whether, by rule Module, work in one path may be the first that needs a gather in another path.
bool belongsTo(std::string_view workPath, std::string_view gatherPath)
{
    if (const auto gathered = annotatedModule(gatherPath, kFsdpGather))
        return annotatedModule(workPath, kFsdpCopyOut) == gathered;
    return liesIn(moduleOf(fromStepDown(workPath)), moduleOf(fromStepDown(gatherPath)));
}

using StreamKey = std::pair<DeviceIndex, StreamId>;

class Slacks {
public:
    Slacks(std::span<const DependentWork> work, std::span<const Wait> waits, const TextOf& textOf)
        : work_(work), textOf_(textOf)
    {
        order_.resize(work.size());
        for (std::size_t i = 0; i < work.size(); ++i)
            order_[i] = i;
        std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return work[i].start; });
        for (const std::size_t i : order_)
            streams_[{work[i].device, work[i].stream}].push_back(i);
        for (const Wait& wait : waits)
            if (wait.kind == WaitKind::StreamWait && wait.recordCorrelation && wait.waitedFor)
                waits_[{wait.device, wait.waitedFor}].push_back(&wait);
        for (auto& [stream, list] : waits_)
            std::ranges::stable_sort(list, {}, &Wait::recordCorrelation);
    }

    std::optional<GatherSlack> of(const Gather& gather)
    {
        GatherSlack slack{.rule = SlackRule::StreamOrder};
        std::optional<std::size_t> first = byStreamOrder(gather);
        if (!first) {
            slack.rule = SlackRule::Module;
            first = byModule(gather);
        }
        if (!first)
            return {};
        const DependentWork& needs = work_[*first];
        Timestamp ready = std::max(gather.start, needs.launched);
        if (const auto before = beforeOnStream(*first))
            ready = std::max(ready, work_[*before].end);
        slack.work = *first;
        slack.slack = needs.start - gather.end;
        slack.stall = std::max(Nanoseconds(0), gather.end - ready);
        return slack;
    }

private:
    std::optional<std::size_t> byStreamOrder(const Gather& gather) const
    {
        const auto waits = waits_.find({gather.device, gather.stream});
        if (waits == waits_.end())
            return {};
        auto wait = std::ranges::upper_bound(waits->second, gather.correlation, {}, &Wait::recordCorrelation);
        for (; wait != waits->second.end(); ++wait) {
            const auto stream = streams_.find({(*wait)->device, (*wait)->stream});
            if (stream == streams_.end())
                continue;
            for (auto each = firstFrom(stream->second, gather.end); each != stream->second.end(); ++each)
                if (work_[*each].correlation > (*wait)->correlation)
                    return *each;
        }
        return {};
    }

    std::optional<std::size_t> byModule(const Gather& gather)
    {
        for (auto each = firstFrom(order_, gather.end); each != order_.end(); ++each) {
            const DependentWork& work = work_[*each];
            const StreamKey stream{work.device, work.stream};
            if (work.step == gather.step && work.correlation > gather.correlation &&
                stream != StreamKey(gather.device, gather.stream) && isOf(work.path, gather.path))
                return *each;
            if (work.step > gather.step && gather.step != kNoStep)
                return {};
        }
        return {};
    }

    /// \param order  by start
    std::vector<std::size_t>::const_iterator firstFrom(const std::vector<std::size_t>& order,
                                                       Timestamp start) const
    {
        return std::ranges::lower_bound(order, start, {}, [&](std::size_t i) { return work_[i].start; });
    }

    bool isOf(StringId work, StringId gather)
    {
        const auto [known, isNew] = related_.try_emplace({work, gather}, false);
        if (isNew && work && gather)
            known->second = belongsTo(textOf_(work), textOf_(gather));
        return known->second;
    }

    std::optional<std::size_t> beforeOnStream(std::size_t work) const
    {
        const std::vector<std::size_t>& stream = streams_.at({work_[work].device, work_[work].stream});
        const auto at = firstFrom(stream, work_[work].start);
        return at == stream.begin() ? std::nullopt : std::optional(*std::prev(at));
    }

    std::span<const DependentWork> work_;
    const TextOf& textOf_;
    std::vector<std::size_t> order_;                        // by start
    std::map<StreamKey, std::vector<std::size_t>> streams_; // by start
    std::map<StreamKey, std::vector<const Wait*>> waits_;   // by the stream that is waited for
    std::map<std::pair<StringId, StringId>, bool> related_;
};

} // namespace

std::string_view wordOf(SlackRule rule)
{
    return rule == SlackRule::StreamOrder ? "stream-order" : "module";
}

std::vector<std::optional<GatherSlack>> slackOfGathers(std::span<const Gather> gathers,
                                                       std::span<const DependentWork> work,
                                                       std::span<const Wait> waits, const TextOf& textOf)
{
    Slacks slacks(work, waits, textOf);
    std::vector<std::optional<GatherSlack>> list;
    for (const Gather& gather : gathers)
        list.push_back(slacks.of(gather));
    return list;
}

} // namespace tilescope::analysis
