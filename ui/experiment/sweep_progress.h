#pragma once

#include "core/session/supervisor/supervisor.h"
#include "ui/experiment/forecast.h"
#include "ui/kit/table_model.h"

#include <QString>
#include <QStringList>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// The progress of a sweep, built from its events: plain values for bars, tables and logs.
class SweepProgress {
public:
    using Points = std::shared_ptr<const std::vector<session::SweepPoint>>;
    enum class Standing { Waiting, Running, Done, Stored };
    /// A step of the running point.
    struct Step {
        std::int64_t step = 0; ///< from 0; below 0: of the warm-up, the last one -1
        double wallNs = 0;
    };
    /// The allocated bytes at the end of a step.
    struct Memory {
        std::int64_t step = 0; ///< numbered like Step::step
        double allocated = 0;
        std::optional<double> reserved;
        std::optional<double> peak;
    };
    struct PointState {
        QString label; ///< what distinguishes it from the others
        Standing standing = Standing::Waiting;
        QString state; ///< current activity: warmup, measure, …
        session::ResultEvent result;
        std::int64_t run = 0; ///< of the file; 0 until it has begun, and of a point that the file held before
    };

    SweepProgress() = default;
    explicit SweepProgress(Points points);

    /// The file held these points before: they are not run.
    void passOver(const std::vector<std::int64_t>& indexes);
    /// Sets the expected times of points; shown until they have run.
    void setForecast(std::optional<SweepForecast> forecast) { forecast_ = std::move(forecast); }

    /// Takes one event.
    /// \return  the line that the log gets; empty for none
    QString take(const session::Event& event);

    const std::vector<PointState>& points() const { return states_; }
    /// Whether `other` has the same points in the same order.
    bool isOf(const SweepProgress& other) const;
    const ExperimentSpec& specOf(std::size_t position) const { return (*points_)[position].spec; }
    std::size_t finished() const { return finished_; }
    double fraction() const;        ///< 0 to 1, with the steps of the point that runs
    double currentFraction() const; ///< of the steps of the point that runs
    /// Whether the point is predicted to run out of memory.
    bool expectsOom(std::size_t position) const;
    /// The predicted step time in nanoseconds; null if unknown.
    std::optional<double> expectedStep(std::size_t position) const;
    /// The remaining time at the current rate; null while there is too little to extrapolate from.
    std::optional<double> secondsLeft(double activeSeconds) const;
    /// "43 ok, 4 out of memory"; empty while no point has ended.
    QString counts() const;
    /// "3 of 12 points, measure, about 1m20s left".
    QString words(double activeSeconds) const;
    /// The reason of the last point that ended in error; empty if none did.
    QString lastError() const { return lastError_; }

    /// The point that runs, or ran last; null before the first.
    const PointState* current() const;
    /// Number of timed steps to do.
    std::int64_t stepsToDo() const;
    /// Steps of the current point; of very many evenly some.
    const std::vector<Step>& steps() const { return steps_; }
    const std::vector<Memory>& memory() const { return memory_; }
    /// One row per point. If there are more than `most` points, only those around the running one.
    TableData table(std::size_t most = kRowsShown) const;
    /// "points 501 to 1500"; empty if the table has all of them.
    QString shownPart(std::size_t most = kRowsShown) const;
    static constexpr std::size_t kRowsShown = 1000;

private:
    QString take(const session::HelloEvent& event);
    QString take(const session::PointEvent& event);
    QString take(const session::StateEvent& event);
    QString take(const session::SampleEvent& event);
    QString take(const session::MemoryEvent& event);
    QString take(const session::ResultEvent& event);
    QString take(const session::LossEvent& event);
    QString take(const session::CeilingsEvent&) { return {}; } // no part of a sweep
    QString take(const session::ReplayEvent&) { return {}; }   // neither
    QString take(const session::LogEvent& event);
    QString take(const session::FatalEvent& event);
    QString take(const session::DoneEvent& event);
    std::int64_t numbered(std::int64_t step) const; ///< as Step::step
    const ExperimentSpec& spec() const { return (*points_)[current_].spec; }
    QString nameOf(std::size_t position) const;
    std::pair<std::size_t, std::size_t>
    rows(std::size_t most) const; ///< the first row, and one past the last

    Points points_;
    std::vector<PointState> states_;
    std::map<std::int64_t, std::size_t> ofIndex_, ofRun_; ///< to positions in `states_`
    std::size_t current_ = 0;
    std::size_t finished_ = 0;
    std::size_t ranHere_ = 0;    ///< finished, but not passed over
    std::int64_t stepsDone_ = 0; ///< of the current point, warm-up and traced steps too
    bool begun_ = false;
    std::vector<Step> steps_;
    std::vector<Memory> memory_;
    std::int64_t memoryStride_ = 1; ///< one of this many readings is kept
    std::int64_t stepStride_ = 1;
    std::int64_t stepsSeen_ = 0;
    std::int64_t memorySeen_ = 0;
    QString lastError_;
    std::optional<SweepForecast> forecast_;
};

} // namespace tilescope::ui
