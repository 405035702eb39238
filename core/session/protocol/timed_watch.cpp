#include "core/session/protocol/timed_watch.h"

#include "core/analysis/time/run_flags.h"

#include <fmt/format.h>

namespace tilescope::session {

void TimedWatch::state(PointState state)
{
    if (state == PointState::Measure)
        began_ = machine::conditionsNow(gpu_);
    else if (began_ && !ended_)
        ended_ = machine::conditionsNow(gpu_);
}

void TimedWatch::sample(const Sample& sample)
{
    if (sample.phase != Phase::Step || sample.kind == SampleKind::Trace)
        return;
    auto& steps = sample.kind == SampleKind::Measure ? timed_ : warmup_;
    steps.push_back(static_cast<double>(sample.wall.count()));
}

std::vector<std::string> TimedWatch::flags() const
{
    analysis::RunConditions run{.warmup = warmup_, .timed = timed_};
    if (began_ && ended_) {
        if (began_->smClockMhz && ended_->smClockMhz) {
            run.clockBefore = *began_->smClockMhz;
            run.clockAfter = *ended_->smClockMhz;
        }
        run.slowdowns = slowdowns(*began_, *ended_);
        // In a short interval one scheduler time slice is a large share, so the figure is meaningless.
        constexpr std::chrono::milliseconds kLongEnough{100};
        if (ended_->at - began_->at >= kLongEnough) {
            run.waiting = waitingShare(*began_, *ended_);
            run.stolen = stolenShare(*began_, *ended_);
        }
    }
    std::vector<std::string> texts;
    for (const analysis::RunFlag& flag : analysis::flagsOf(run))
        texts.push_back(flag.text());
    return texts;
}

std::vector<EnvironmentEntry> TimedWatch::environment() const
{
    std::vector<EnvironmentEntry> entries;
    if (!began_ || !ended_)
        return entries;
    for (const auto& [moment, when] :
         {std::pair(&*began_, ".timed.before"), std::pair(&*ended_, ".timed.after")})
        if (moment->smClockMhz)
            entries.push_back(
                {fmt::format("gpu.clock.sm{}", when), std::to_string(*moment->smClockMhz), "MHz"});
    if (const auto waiting = waitingShare(*began_, *ended_))
        entries.push_back({"host.waiting.timed", fmt::format("{:.3f}", 100 * *waiting), "%"});
    if (const auto waiting = someWaitingShare(*began_, *ended_))
        entries.push_back({"host.waiting.some.timed", fmt::format("{:.3f}", 100 * *waiting), "%"});
    if (const auto stolen = stolenShare(*began_, *ended_))
        entries.push_back({"host.stolen.timed", fmt::format("{:.3f}", 100 * *stolen), "%"});
    return entries;
}

} // namespace tilescope::session
