#pragma once

#include "ui/models/chart_recipe.h"
#include "ui/models/table_model.h"
#include "ui/pages/page.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QStackedWidget;

namespace tilescope::ui {

class ChartPlot;
class ComboBox;
class Segments;
class TableView;
class ToolBar;

/// The values behind a chart: a row a series, a column an x.
TableData chartRows(const Chart& chart);
/// Its fits; no rows where there are none.
TableData fitRows(const Chart& chart, const ChartRecipe& recipe);

/// A figure from the selected runs: what is x, y and series, axes, error bars and fits on the left, the
/// figure at the proportions of paper, its data, fits and caption below. Recipes are files that
/// `tilescope-gui --charts` draws too.
class ChartsPage : public Page {
    Q_OBJECT
public:
    explicit ChartsPage(Workspace& workspace, QWidget* parent = nullptr);

    const Chart& chart() const { return chart_; }
    void setRecipe(const ChartRecipe& recipe);

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QWidget* makeTools();
    QWidget* makeForm();
    QWidget* makeFigure();
    QWidget* makeBelow();
    void fillKeys();
    void readForm();
    void draw();
    void placeFigure();
    void openRecipe();
    void saveRecipe();
    void exportFigure();
    void say(const QString& sentence);

    std::vector<SelectedRun> runs_;
    ChartRecipe recipe_;
    Chart chart_;
    QLineEdit* title_ = nullptr;
    ComboBox* x_ = nullptr;
    ComboBox* y_ = nullptr;
    ComboBox* series_ = nullptr;
    ComboBox* bars_ = nullptr;
    ComboBox* fit_ = nullptr;
    ComboBox* paper_ = nullptr;
    Segments* xAxis_ = nullptr;
    Segments* yAxis_ = nullptr;
    Segments* centre_ = nullptr;
    QLabel* size_ = nullptr;
    QLabel* problem_ = nullptr;
    QWidget* desk_ = nullptr;
    ChartPlot* plot_ = nullptr;
    TableView* rows_ = nullptr;
    TableView* fits_ = nullptr;
    QLabel* caption_ = nullptr;
    QStackedWidget* stack_;
    QLabel* message_;
};

} // namespace tilescope::ui
