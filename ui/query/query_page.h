#pragma once

#include "core/exchange/runs/sql_section.h"
#include "ui/jobs/job_tracker.h"
#include "ui/kit/page.h"

#include <QElapsedTimer>

#include <memory>
#include <optional>
#include <stop_token>

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QTreeWidget;

namespace tilescope::ui {

class ComboBox;
class Panel;
class ResultPlot;
class SentenceLabel;
class TableView;

/// A SELECT statement over the file of the first selected run: its rows as a table and as a chart, and the views
/// and tables that it can read. The file is read-only.
class QueryPage : public Page {
    Q_OBJECT
public:
    explicit QueryPage(Workspace& workspace, QWidget* parent = nullptr);
    ~QueryPage() override;

    void setStatement(const QString& sql);
    void run();
    void stop();
    bool startFind() override;
    QString command() const override;

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    /// The rows stay until the user runs the statement again.
    bool showGrown(const std::vector<SelectedRun>&) override { return true; }

private:
    QWidget* makeTools();
    QWidget* makeEditor();
    QWidget* makeSources();
    QWidget* makeResult();
    QWidget* makeChart();
    void showSources(const std::vector<store::SqlSource>& sources);
    void showResult(std::shared_ptr<const store::SqlResult> result);
    void showFailure(const QString& sentence);
    void showChart();
    void setRunning(bool running);

    JobTracker listing_{this};
    JobTracker running_{this};
    std::optional<std::stop_source> stop_; ///< of the running statement
    QElapsedTimer since_;
    std::shared_ptr<query::SharedFile> file_;
    std::int64_t run_ = 1;
    std::shared_ptr<const store::SqlResult> result_;
    QPlainTextEdit* editor_ = nullptr;
    QTreeWidget* sources_ = nullptr;
    QPushButton* runButton_ = nullptr;
    QAction* runIt_ = nullptr;
    QPushButton* stopButton_ = nullptr;
    QPushButton* examples_ = nullptr;
    QWidget* content_ = nullptr;
    SentenceLabel* message_ = nullptr; ///< without a run
    QLabel* fileName_ = nullptr;
    SentenceLabel* failure_ = nullptr;
    Panel* resultPanel_ = nullptr;
    Panel* chartPanel_ = nullptr;
    TableView* rows_ = nullptr;
    ResultPlot* plot_ = nullptr;
    ComboBox* values_ = nullptr;
    ComboBox* keys_ = nullptr;
};

} // namespace tilescope::ui
