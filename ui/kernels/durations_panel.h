#pragma once

#include "core/query/timeline/hue.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/panel.h"

#include <cstdint>
#include <functional>
#include <vector>

class QPushButton;

namespace tilescope::ui {

class HistogramPlot;
class SentenceLabel;
struct Durations;

/// How long the instances of the selected kernel, op or group took, as a histogram. GUI thread; sums up the instances
/// in a job.
class DurationsPanel : public Panel {
    Q_OBJECT
public:
    /// The lengths of the instances in ns. Runs on another thread.
    using Lengths = std::function<std::vector<std::int64_t>(const std::function<bool()>& cancelled)>;

    explicit DurationsPanel(QWidget* parent = nullptr);

    /// \param lengths    of the instances; empty: they are not known
    /// \param otherwise  why there is no histogram
    void showInstances(query::Hue hue, const Lengths& lengths, const QString& otherwise);
    /// Shows that no row is selected.
    void clear();
    /// A sentence above the histogram; empty: none.
    void setNotice(const QString& notice);
    void setOnTimeline(bool isThere);

signals:
    void timelineWanted();

private:
    void show(const Durations& durations, query::Hue hue, const QString& otherwise);

    JobTracker measuring_{this};
    SentenceLabel* notice_;
    HistogramPlot* histogram_;
    SentenceLabel* noHistogram_;
    QPushButton* showOnTimeline_;
};

} // namespace tilescope::ui
