#pragma once

#include "core/query/ranks/rank_tables.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/page.h"
#include "ui/kit/table_model.h"

#include <memory>
#include <optional>

class QLabel;
class QLineEdit;
class QPushButton;
class QScrollArea;

namespace tilescope::ui {

class ComboBox;
class LatenessPlot;
class MessageStack;
class Panel;
class RankLanesPlot;
class SentenceLabel;
class StepBarPlot;
class TableView;

/// What the ranks of the first selected run did: where their steps went, who was late, who waited for whom, and each
/// collective. A collective, in the table, the lanes or the heat map of lateness, leads to the timeline.
class RanksPage : public Page {
    Q_OBJECT
public:
    explicit RanksPage(Workspace& workspace, QWidget* parent = nullptr);

    TableView& collectives() { return *collectives_; }
    TableView& parts() { return *parts_; }
    StepBarPlot& bars() { return *bars_; }
    RankLanesPlot& lanes() { return *lanes_; }
    LatenessPlot& lateness() { return *lateness_; }
    QLineEdit& find() { return *find_; }
    QString command() const override;

signals:
    /// The user wants to see on the timeline what begins on this stream at that time.
    void eventWanted(DeviceIndex device, StreamId stream, Timestamp start);

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }

private:
    using Table = std::shared_ptr<const query::RanksTable>;
    /// A table with the rows of its collectives, which are made beside the window's thread.
    struct Loaded {
        Table table;
        std::optional<std::int32_t> step;
        TableData collectives; ///< of this step
        SelectedRun run;
    };

    QWidget* makeTools();
    QWidget* makeVerdict();
    QWidget* makeBars();
    QWidget* makeLanes();
    QWidget* makeCollectives();
    QWidget* makeLateness();
    QWidget* makeParts();
    void loaded(Loaded loaded);
    void showStep();
    /// \param rows  collectiveRows() of the step
    void showTables(TableData rows);
    void showBars();
    void showLanes();
    void showLateness();
    void showFound();
    void showCollective(std::optional<std::int64_t> id);
    void choose(std::int64_t id);
    void openTimeline(std::int64_t id);
    void openRank(std::int64_t id, ProcessIndex process);
    void showMessage(const QString& text);
    bool hasSteps() const;
    std::optional<std::int32_t> step() const; ///< none: all

    JobTracker loading_{this};
    JobTracker loadingWork_{this};
    QString workProblem_; ///< why the work of the ranks could not be read; empty: it could, or is being read
    Table table_;
    std::shared_ptr<const query::Timeline> timeline_; ///< of the run of table_; null until it is read
    bool ofSeveral_ = false; ///< several runs are selected: this is the first of them
    ComboBox* step_ = nullptr;
    QLineEdit* find_ = nullptr; ///< shows only some of many ranks
    QLabel* summary_ = nullptr;
    MessageStack* stack_;
    bool isFiltered_ = false; ///< by time
    SentenceLabel* verdict_ = nullptr;
    SentenceLabel* exposed_ = nullptr;
    Panel* barsPanel_ = nullptr;
    QScrollArea* barsArea_ = nullptr;
    StepBarPlot* bars_ = nullptr;
    Panel* lanesPanel_ = nullptr;
    RankLanesPlot* lanes_ = nullptr;
    Panel* collectivesPanel_ = nullptr;
    TableView* collectives_ = nullptr;
    SentenceLabel* noCollectives_ = nullptr;
    Panel* latenessPanel_ = nullptr;
    QScrollArea* latenessArea_ = nullptr;
    LatenessPlot* lateness_ = nullptr;
    Panel* partsPanel_ = nullptr;
    TableView* parts_ = nullptr;
    QPushButton* onTimeline_ = nullptr;
};

} // namespace tilescope::ui
