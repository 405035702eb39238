#pragma once

#include "core/query/calls/flame_graph.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/page.h"
#include "ui/waiting/waiting_rows.h"

#include <memory>
#include <optional>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class ComboBox;
class FlameView;
class HelpList;
class MeanStepBar;
class MessageStack;
class Panel;
class SegmentedControl;
class SentenceLabel;
class TableView;

/// Why the GPU of the first selected run waits: a sentence, the mean step by cause, the stacks of the host while the GPU is
/// idle, the costliest lines with their source, and what would help. Of two runs, the lines are those of both.
class WaitingPage : public Page {
    Q_OBJECT
public:
    explicit WaitingPage(Workspace& workspace, QWidget* parent = nullptr);

    FlameView& view() { return *view_; }
    TableView& lines() { return *lines_; }
    TableView& source() { return *source_; }
    bool startFind() override;
    QString command() const override;
    QString processSentence() const override
    {
        return tr("The sentence and the mean step are of the mean GPU; stacks and lines are of each rank, or "
                  "of the chosen one.");
    }

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }
    bool followsProcess() const override { return true; }

private:
    using Reading = std::shared_ptr<const WaitingReading>;
    struct Loaded {
        Reading first;
        Reading second; ///< null: one run is selected
        std::shared_ptr<const query::CallTreeTable> tree;
        QString again; ///< command that records the program again; empty: unknown
        std::vector<std::int32_t> steps;
    };

    QWidget* makeTools();
    QWidget* makeSentence();
    QWidget* makeStep();
    QWidget* makeStacks();
    QWidget* makeLines();
    QWidget* makeSource();
    QWidget* makeHelp();
    void load();
    void loaded(Loaded loaded);
    void layOut();
    void find();
    void showLines();
    void showLine(std::optional<std::int64_t> id);
    void showSource(const query::SourceText& source, const query::WaitingRow& row);
    void saySource(const QString& sentence);
    void showHelp();
    void showMessage(const QString& text);
    void describeBox();
    const query::WaitingTable& shownLines() const; ///< of the first run, as chosen
    std::optional<std::int32_t> step() const;

    JobTracker loading_{this};
    JobTracker laying_{this};
    JobTracker reading_{this};
    JobTracker advising_{this};
    std::optional<SelectedRun> run_;
    std::optional<SelectedRun> second_; ///< of several selected runs
    Reading first_;
    Reading other_;
    std::shared_ptr<const query::CallTreeTable> tree_;
    std::shared_ptr<const query::FlameGraph> graph_;
    QString again_;
    ComboBox* step_ = nullptr;
    SegmentedControl* code_ = nullptr;
    QCheckBox* invert_ = nullptr;
    QPushButton* whole_ = nullptr;
    QLineEdit* find_ = nullptr;
    MessageStack* stack_ = nullptr;
    SentenceLabel* sentence_ = nullptr;
    QLabel* figures_ = nullptr;
    Panel* stepPanel_ = nullptr;
    MeanStepBar* bar_ = nullptr;
    Panel* stacksPanel_ = nullptr;
    FlameView* view_ = nullptr;
    Panel* linesPanel_ = nullptr;
    TableView* lines_ = nullptr;
    Panel* sourcePanel_ = nullptr;
    MessageStack* sourceStack_ = nullptr;
    TableView* source_ = nullptr;
    HelpList* help_ = nullptr;
};

} // namespace tilescope::ui
