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

/// How progress is shown.
struct ProgressStyle {
    bool bar = false;          ///< a line that is rewritten, on `err`
    bool colour = false;       ///< of the lines on `out`
    std::size_t width = 0;     ///< of the bar's terminal; 0 if it is none
    std::size_t lineWidth = 0; ///< to which the lines on `out` are cut; 0 for no limit
};

/// Prints what a sweep tells to a person: one line a point on `out`, a progress bar with the time left on
/// `err`, and at the end what was lost and what came out. The session's thread.
class Progress {
public:
    /// \param present  points of the sweep that the file holds already, beside `points`
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
    void take(const session::MemoryEvent&) {}   // the result has the peak
    void take(const session::CeilingsEvent&) {} // no part of a sweep
    void take(const session::LogEvent& event);
    void take(const session::FatalEvent&) {}
    void take(const session::DoneEvent& event);

    void drawBar(bool now);
    void clearBar();
    double fraction() const;
    std::string losses() const;
    /// What tells the current point apart, and why it ended so, in the room that a line has left.
    std::string remarks(const std::string& reason, std::size_t used) const;

    const std::vector<session::SweepPoint>& points_;
    const ProgressStyle style_;
    const std::size_t present_;
    std::ostream& out_;
    std::ostream& err_;
    std::vector<std::string> labels_;               ///< of each point: what varies
    std::map<std::int64_t, std::size_t> positions_; ///< of a point's index in the sweep
    std::string file_;
    Clock::time_point began_ = Clock::now();
    Clock::time_point drawn_{};
    bool barShown_ = false;
    std::size_t finished_ = 0;
    std::size_t current_ = 0;
    std::string state_;
    std::int64_t stepsDone_ = 0; ///< of the current point, warm-up and traced steps too
    std::int64_t records_ = 0;
    std::map<std::string, session::LossEvent> losses_; ///< by kind
    std::set<std::string> said_;                       ///< flags that are the same for every point
};

using session::durationText;
using session::pointLabels;

} // namespace tilescope::cli
