#include "core/analysis/path/host_spans.h"

#include <algorithm>

namespace tilescope::analysis {

namespace {

class SpanCutter {
public:
    SpanCutter(std::span<const HostEvent> events, std::span<const Timestamp> cuts)
        : events_(events), cuts_(cuts)
    {
    }

    std::vector<HostSpan> cut()
    {
        if (events_.empty())
            return {};
        now_ = events_.front().time.start;
        while (cut_ < cuts_.size() && cuts_[cut_] <= now_)
            ++cut_;
        for (std::uint32_t i = 0; i < events_.size(); ++i) {
            advance(events_[i].time.start);
            if (events_[i].time.end > events_[i].time.start)
                open_.push_back(i);
        }
        advance(Timestamp::max());
        return std::move(spans_);
    }

private:
    /// Closes the events that end at `time` or before, and cuts at `time`.
    void advance(Timestamp time)
    {
        while (!open_.empty()) {
            const Timestamp end = events_[open_.back()].time.end;
            if (end > time) {
                addUntil(time, open_.back());
                return;
            }
            addUntil(end, open_.back());
            open_.pop_back();
        }
        if (time != Timestamp::max())
            addUntil(time, {});
    }

    void addUntil(Timestamp end, std::optional<std::uint32_t> event)
    {
        for (; cut_ < cuts_.size() && cuts_[cut_] < end; ++cut_)
            add(cuts_[cut_], event);
        add(end, event);
    }

    void add(Timestamp end, std::optional<std::uint32_t> event)
    {
        if (end <= now_)
            return;
        spans_.push_back({{now_, end}, event});
        now_ = end;
    }

    std::span<const HostEvent> events_;
    std::span<const Timestamp> cuts_;
    std::vector<std::uint32_t> open_;
    std::vector<HostSpan> spans_;
    Timestamp now_{};
    std::size_t cut_ = 0;
};

} // namespace

std::vector<HostSpan> hostSpans(std::span<const HostEvent> events, std::span<const Timestamp> cuts)
{
    return SpanCutter(events, cuts).cut();
}

} // namespace tilescope::analysis
