#pragma once

#include "core/session/protocol/event.h"
#include "core/session/supervisor/supervisor.h"
#include "core/session/supervisor/sweep_text.h"

#include <chrono>
#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tilescope::cli {

/// The style of the progress output.
struct ProgressStyle {
    bool bar = false;          ///< rewrite a progress line on `err`
    bool colour = false;       ///< for the lines on `out`
    std::size_t width = 0;     ///< width of the bar's terminal; 0: not a terminal
    std::size_t lineWidth = 0; ///< maximum length of the lines on `out`; 0: unlimited
};

/// That of standard output and standard error.
ProgressStyle styleHere();

/// Prints the progress of a sweep for people: one line per point on `out`, a progress bar with the remaining
/// time on `err`, and finally losses and results. The session's thread.
class Progress {
public:
    /// \param present  points of the sweep that the file already contains, in addition to `points`
    Progress(const std::vector<session::SweepPoint>& points, ProgressStyle style, std::ostream& out,
             std::ostream& err, std::size_t present = 0);
    void take(const session::Event& event);

private:
    using Clock = std::chrono::steady_clock;

    void take(const session::HelloEvent& event);
    void take(const session::PointEvent& event);
    void take(const session::StateEvent& event);
    void take(const session::SampleEvent& event);
    void take(const session::ResultEvent& event);
    void take(const session::LossEvent& event);
    void take(const session::MemoryEvent&) {}   // the result contains the peak
    void take(const session::CeilingsEvent&) {} // not part of a sweep
    void take(const session::ReplayEvent&) {}   // neither
    void take(const session::LogEvent& event);
    void take(const session::FatalEvent&) {}
    void take(const session::DoneEvent& event);

    void drawBar(bool now);
    void clearBar();
    double fraction() const;
    std::string losses() const;
    /// The flags and the reason of the current point, shortened to the rest of the line.
    std::string remarks(const std::string& reason, std::size_t used) const;

    const std::vector<session::SweepPoint>& points_;
    const ProgressStyle style_;
    const std::size_t present_;
    std::ostream& out_;
    std::ostream& err_;
    std::vector<std::string> labels_;               ///< per point: the values that vary
    std::map<std::int64_t, std::size_t> positions_; ///< by a point's index in the sweep
    std::string file_;
    Clock::time_point began_ = Clock::now();
    Clock::time_point drawn_{};
    bool barShown_ = false;
    std::size_t finished_ = 0;
    std::size_t current_ = 0;
    std::string state_;
    std::int64_t stepsDone_ = 0; ///< of the current point, including warm-up and traced steps
    std::int64_t records_ = 0;
    std::map<std::string, session::LossEvent> losses_; ///< by kind
    std::set<std::string> said_;                       ///< flags already printed that apply to every point
};

using session::durationText;
using session::pointLabels;

} // namespace tilescope::cli
