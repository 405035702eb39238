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
class Segments;
class StepsPlot;
class TableView;

/// The points of a sweep and, while it runs, how far it is: the steps and the memory of the point that runs
/// and what the engine tells. Before, the points that the spec stands for.
class RunView : public QWidget {
    Q_OBJECT
public:
    explicit RunView(SweepQueue& queue, QWidget* parent = nullptr);

    /// The points of the spec as it stands; shown while nothing runs.
    void setPlan(std::shared_ptr<const SweepPlan> plan);
    JobSummary summary() const;
    QSplitter& splitter() { return *splitter_; }

signals:
    /// Another run stands in this file, or one of its runs has ended.
    void recorded(const QString& file);
    void summarized(const tilescope::ui::JobSummary& summary);
    /// The run of a point is to be selected, and shown where `opens`. It has that number in the file; 0: it
    /// stood there before, with a spec of that hash.
    void runChosen(const QString& file, std::int64_t run, const QString& specHash, bool opens);
    /// What is under the cursor, for the status bar.
    void cellText(const QString& text);
    /// The page that says what is missing here.
    void machineWanted();

private:
    QWidget* makePoints();
    QWidget* makeLive();
    void begin();
    void take(const std::vector<session::Event>& events);
    void end(const SweepEnd& end);
    void paint();
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
    QString file_; ///< that it goes into
    QTimer paintSoon_, readSoon_, clock_;

    QSplitter* splitter_ = nullptr;
    Panel* pointsPanel_ = nullptr;
    QWidget* statusRow_ = nullptr;
    QLabel* status_ = nullptr;
    QPushButton* machine_ = nullptr;
    QProgressBar* bar_ = nullptr;
    QLabel* counts_ = nullptr;
    QStackedWidget* views_ = nullptr;
    Segments* choice_ = nullptr;
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
