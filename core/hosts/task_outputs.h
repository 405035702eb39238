#pragma once

#include "core/session/protocol/event.h"
#include "core/session/protocol/line_splitter.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilescope::hosts {

/// Joins the events of a sweep's tasks, which run at the same time, into those of one sweep. The events of one point are
/// passed on as they come. Those of another point wait until it has ended: then all of them are passed on together, and
/// after them once more the beginning of the point that goes on. So events always belong to the last `point`. Runs get numbers
/// that no other has. One thread.
class TaskOutputs {
public:
    /// \param write  gets whole lines
    TaskOutputs(int tasks, std::int64_t points, std::function<void(std::string_view)> write);

    /// What another object wrote before: the points that ended there are not passed on again.
    void resume(std::string_view written);
    void feed(int task, std::string_view bytes);
    /// A task has ended: what it began is passed on.
    void end(int task);
    /// All tasks have ended.
    void finish();

private:
    struct Task {
        session::LineSplitter lines;
        std::map<std::int64_t, std::int64_t> runs; ///< numbers in its file and here
        std::vector<std::string> held;             ///< lines of its point that wait
        std::string point;                         ///< the line that began its point
        std::string state;                         ///< the last of its states; empty: none yet
        bool isInPoint = false;
        bool isSkipping = false; ///< the point was passed on before
    };

    void take(int task, std::string_view line);
    void takeEvent(int task, session::Event event, bool isReading);
    void say(std::string_view line) const;
    void flush(Task& task) const;
    void endPoint(int task);

    std::vector<Task> tasks_;
    std::int64_t points_;
    std::function<void(std::string_view)> write_;
    std::set<std::int64_t> passedOn_; ///< points by SweepPoint::index
    std::int64_t lastRun_ = 0;
    int live_ = -1; ///< the task whose point is passed on as it comes
    bool hasGreeted_ = false;
    session::DoneEvent done_;
};

} // namespace tilescope::hosts
