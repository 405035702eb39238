#pragma once

#include "ui/experiment/job_status.h"
#include "ui/experiment/point_grid.h"
#include "ui/experiment/sweep_queue.h"

#include <QTimer>
#include <QWidget>

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;
class QSplitter;
class QStackedWidget;

namespace tilescope::ui {

class HeldMemoryPlot;
class Panel;
class PointGridView;
class SegmentedControl;
class SentenceLabel;
class StepsPlot;
class TableView;

/// The points of the spec and, while a sweep runs in one place, its progress: steps and memory of the running point, and
/// the engine's log.
class RunView : public QWidget {
    Q_OBJECT
public:
    explicit RunView(SweepQueue& queue, QWidget* parent = nullptr);

    /// The points of the current spec; shown while nothing runs.
    void setPlan(std::shared_ptr<const SweepPlan> plan);
    JobSummary summary() const;
    QSplitter& splitter() { return *splitter_; }

signals:
    /// A run was added to this file, or one of its runs has ended.
    void recorded(const QString& file);
    void summarized(const tilescope::ui::JobSummary& summary);
    /// The run of a point is to be selected and, if `opens`, shown. `run` is its number in the file; 0: an
    /// earlier run whose spec has that hash.
    void runChosen(const QString& file, std::int64_t run, const QString& specHash, bool opens);
    /// Describes the item under the cursor, for the status bar.
    void cellText(const QString& text);
    /// The Machine page is wanted.
    void machineWanted();

private:
    QWidget* makePoints();
    QWidget* makeLive();
    void begin();
    void take(const std::vector<session::Event>& events);
    void end(const SweepEnd& end);
    void paint();
    void logPlace();
    void sayState();
    void paintPoints();
    void setGrid(const std::optional<PointGrid>& grid);
    void chooseView(bool grid);
    void choosePoint(std::size_t position, bool opens);
    void say(const QString& sentence, const char* kind);
    void log(const QStringList& lines);
    void dress();

    SweepQueue& queue_;
    std::shared_ptr<const SweepPlan> plan_;
    SweepProgress progress_; ///< of the sweep that runs or ran last
    std::optional<PointGrid> grid_;
    bool showsPlan_ = true;
    QString file_;                                     ///< the file that the sweep writes
    PlaceState::Kind place_ = PlaceState::Kind::Ready; ///< as logged last
    QTimer paintSoon_, readSoon_, clock_;

    QSplitter* splitter_ = nullptr;
    Panel* pointsPanel_ = nullptr;
    QWidget* statusRow_ = nullptr;
    SentenceLabel* status_ = nullptr;
    QPushButton* machine_ = nullptr;
    QProgressBar* bar_ = nullptr;
    QLabel* counts_ = nullptr;
    QStackedWidget* views_ = nullptr;
    SegmentedControl* choice_ = nullptr;
    PointGridView* gridView_ = nullptr;
    TableView* table_ = nullptr;
    QWidget* live_ = nullptr;
    Panel* stepsPanel_ = nullptr;
    Panel* memoryPanel_ = nullptr;
    Panel* logPanel_ = nullptr;
    StepsPlot* steps_ = nullptr;
    HeldMemoryPlot* memory_ = nullptr;
    QPlainTextEdit* log_ = nullptr;
};

} // namespace tilescope::ui
