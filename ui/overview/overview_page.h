#pragma once

#include "ui/kit/page.h"
#include "ui/overview/overview_figures.h"

#include <QTimer>

#include <functional>
#include <map>

class QGridLayout;
class QLabel;

namespace tilescope::ui {

class AdvicePanel;
class FlagList;
class GenerationPanel;
class KeyFigureCard;
class KeyValueTable;
class MessageStack;
class OomPanel;
class Panel;
class SentenceLabel;
class StepBarPlot;
class StepTimesPanel;
class StudyPanel;
class TableView;

/// The first page of a file: key figures of one or two runs, where a step's time goes, the costliest
/// families, ranges and allocations, flags, and the machine. More than two runs are listed. Each item links
/// to its page.
class OverviewPage : public Page {
    Q_OBJECT
public:
    explicit OverviewPage(Workspace& workspace, QWidget* parent = nullptr);

    /// \param make  makes what is shown while no file is open, instead of a message; called when it is first shown
    void setStart(std::function<QWidget*(QWidget* parent)> make);
    QString command() const override;
    QString timeFilterWords() const override;
    QString processSentence() const override;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    bool showGrown(const std::vector<SelectedRun>& runs) override;
    bool followsTime() const override { return true; }
    bool followsProcess() const override { return true; }
    void resizeEvent(QResizeEvent* event) override;

private:
    bool showStart();
    void makeShown();
    QWidget* makeHeader();
    void makeContent(QWidget& content);
    void fillLists();
    QWidget* makeRuns();
    void makeRunTable();
    Panel* addList(const QString& title, int stretch, TableView*& table, const QString& page,
                   PageTarget (*targetOf)(const TableRow& row));
    void showList(TableView& table, TableData rows, const QString& otherwise);
    void lead(const QString& page, const PageTarget& target);
    void showSelected(const std::vector<SelectedRun>& runs);
    void loaded(const std::vector<SelectedRun>& runs, const OverviewData& overview);
    void describe(const std::vector<SelectedRun>& runs, const OverviewData& overview);
    void describeRuns();
    std::int64_t countInFile(const SelectedRun& run) const;
    void layCards();
    void showCards(const std::vector<KeyFigure>& figures);

    void showBasics(const std::vector<SelectedRun>& runs, int delayMs);
    void showLists(const OverviewData& overview, bool gpu);

    JobTracker basics_{this};
    JobTracker loading_{this};
    QTimer soon_;                        // what is shown meanwhile, where reading the trace takes long
    bool isLoading_ = false;             // the whole of it
    std::vector<SelectedRun> described_; // in the header
    OverviewData whole_;                 // what was read last
    QLabel* title_ = nullptr;
    QLabel* subtitle_ = nullptr;
    QLabel* machineLine_ = nullptr;
    MessageStack* stack_;
    std::function<QWidget*(QWidget* parent)> makeStart_;
    QWidget* start_ = nullptr; ///< nullptr until it is needed
    QWidget* shown_ = nullptr; ///< and all that follows: nullptr until there is a run
    QGridLayout* cardGrid_ = nullptr;
    std::vector<KeyFigureCard*> cards_;
    Panel* stepPanel_ = nullptr;
    StepBarPlot* bars_ = nullptr;
    StepTimesPanel* stepTimes_ = nullptr;   ///< of runs without a traced step
    GenerationPanel* iterations_ = nullptr; ///< of runs that generate text
    AdvicePanel* advicePanel_ = nullptr;    ///< of the first run
    StudyPanel* studies_ = nullptr;
    OomPanel* oomPanel_ = nullptr; ///< of the first run if it was out of memory
    Panel* runPanel_ = nullptr;
    TableView* runs_ = nullptr; ///< nullptr until more than two runs are selected
    QWidget* lists_ = nullptr;
    TableView* families_ = nullptr;
    TableView* ranges_ = nullptr;
    TableView* allocations_ = nullptr;
    std::map<const TableView*, SentenceLabel*> nothing_; ///< why a list is empty
    Panel* familyPanel_ = nullptr;
    Panel* rangePanel_ = nullptr;
    Panel* allocationPanel_ = nullptr;
    Panel* flagPanel_ = nullptr;
    FlagList* flags_ = nullptr;
    KeyValueTable* machine_ = nullptr;
};

} // namespace tilescope::ui
