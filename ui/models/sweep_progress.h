#pragma once

#include "core/session/supervisor.h"
#include "ui/models/table_model.h"

#include <QString>
#include <QStringList>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace tilescope::ui {

/// Where a sweep stands, made from what it tells: plain values for bars, tables and logs.
class SweepProgress {
public:
    using Points = std::shared_ptr<const std::vector<session::SweepPoint>>;
    enum class Standing { Waiting, Running, Done };
    struct PointState {
        QString label; ///< what tells it from the others
        Standing standing = Standing::Waiting;
        QString state; ///< what it is doing: warmup, measure, …
        session::ResultEvent result;
    };

    SweepProgress() = default;
    explicit SweepProgress(Points points);

    /// Takes one event. \return the line that the log gets; empty for none
    QString take(const session::Event& event);

    const std::vector<PointState>& points() const { return states_; }
    std::size_t finished() const { return finished_; }
    double fraction() const; ///< 0 to 1, with the steps of the point that runs
    /// "3 of 12 points, measure, about 1m20s left".
    QString words(double elapsedSeconds) const;
    TableData table() const;

private:
    QString take(const session::HelloEvent& event);
    QString take(const session::PointEvent& event);
    QString take(const session::StateEvent& event);
    QString take(const session::SampleEvent& event);
    QString take(const session::ResultEvent& event);
    QString take(const session::LossEvent& event);
    QString take(const session::CeilingsEvent&) { return {}; } // no part of a sweep
    QString take(const session::LogEvent& event);
    QString take(const session::FatalEvent& event);
    QString take(const session::DoneEvent& event);
    const ExperimentSpec& spec() const { return (*points_)[current_].spec; }
    QString nameOf(std::size_t position) const;

    Points points_;
    std::vector<PointState> states_;
    std::map<std::int64_t, std::size_t> ofIndex_, ofRun_; ///< to positions in `states_`
    std::size_t current_ = 0;
    std::size_t finished_ = 0;
    std::int64_t stepsDone_ = 0; ///< of the current point, warm-up and traced steps too
};

} // namespace tilescope::ui
