#pragma once

#include "ui/jobs/job_tracker.h"
#include "ui/kernels/inside_reading.h"
#include "ui/kernels/inside_rows.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace tilescope::ui {

class ComboBox;
class FigureStrip;
class MessageStack;
class Panel;
class SegmentedControl;
class SentenceLabel;
class StallBar;
class TableView;
class ToolBar;

/// What the warps of a sampled kernel wait for: its source with the samples of each line, its instructions, states and
/// figures, and one sentence on what limits it. Of two runs, the second is shown and compared with the first.
class InsideView : public QWidget {
    Q_OBJECT
public:
    explicit InsideView(QWidget* parent = nullptr);

    /// Reads and shows the runs. Keeps the kernel that was chosen if they have it.
    void showRuns(const SelectedRun& run, const std::optional<SelectedRun>& second);
    void clear();
    /// Shows a kernel by its full or short name, as soon as it is known.
    void showKernel(const std::string& kernel);
    /// Full name; empty: none is shown.
    const std::string& kernel() const { return choice_.kernel; }
    /// The arguments of `tilescope show` for what is shown, without the file.
    QString command() const;
    TableView& source() { return *source_; }
    TableView& hot() { return *hot_; }
    TableView& instructions() { return *instructions_; }
    TableView& states() { return *states_; }

signals:
    /// The user wants the list of kernels instead.
    void listWanted();
    void exportWanted();
    /// The user wants to see where the kernel ran.
    void timelineWanted(const QString& kernel);
    /// The user wants the instances of the kernel.
    void instancesWanted(const QString& kernel);
    void selectionText(const QString& text);

private:
    QWidget* makeTools();
    QWidget* makeSource();
    QWidget* makeHot();
    QWidget* makeLimit();
    QWidget* makeInstructions();
    void loaded(InsideReadings readings);
    void fillKernels();
    std::string sampled(const std::string& name) const;
    void chooseKernel(const std::string& kernel);
    void fillFiles();
    void showAll();
    void showSource();
    void showInstructions();
    void showLimit();
    void chooseRow(std::int64_t id);
    void chooseHot(std::int64_t id);
    void toggle(std::int64_t id);
    void selectLine(const std::optional<SourceLine>& line);
    double whole() const; ///< samples of the kernel, as chosen

    JobTracker loading_{this};
    std::optional<SelectedRun> run_;    ///< that is shown
    std::optional<SelectedRun> before_; ///< of two
    std::optional<InsideReadings> readings_;
    InsideChoice choice_;
    std::string wanted_; ///< a kernel to show once it is known
    std::optional<SourceLine> line_;
    std::vector<InsideSourceRow> rows_;
    SegmentedControl* view_ = nullptr;
    ComboBox* kernels_ = nullptr;
    SegmentedControl* count_ = nullptr;
    ComboBox* files_ = nullptr;
    QWidget* summary_ = nullptr;
    ToolBar* tools_ = nullptr;
    MessageStack* stack_ = nullptr;
    FigureStrip* figures_ = nullptr;
    Panel* sourcePanel_ = nullptr;
    MessageStack* sourceStack_ = nullptr;
    TableView* source_ = nullptr;
    Panel* hotPanel_ = nullptr;
    TableView* hot_ = nullptr;
    Panel* limitPanel_ = nullptr;
    SentenceLabel* sentence_ = nullptr;
    StallBar* bar_ = nullptr;
    TableView* states_ = nullptr;
    Panel* codePanel_ = nullptr;
    SegmentedControl* codeOf_ = nullptr;
    TableView* instructions_ = nullptr;
};

} // namespace tilescope::ui
