#pragma once

#include "ui/charts/chart_recipe.h"
#include "ui/kit/page.h"

class QCheckBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QMenu;
class QScrollArea;

namespace tilescope::ui {

class ChartPlot;
class ComboBox;
class FigureView;
class SegmentedControl;
class MessageStack;
class TableView;
class ToolBar;

/// A figure from the selected runs. On the left: x, y, series, axes, error bars and fits. On the right: the
/// figure at its proportions on paper, with data, fits and caption below. Recipes are files that
/// `tilescope-gui --charts` also draws.
class ChartsPage : public Page {
    Q_OBJECT
public:
    explicit ChartsPage(Workspace& workspace, QWidget* parent = nullptr);

    const Chart& chart() const { return chart_; }
    const ChartRecipe& recipe() const { return recipe_; }
    ChartPlot& plot() { return *plot_; }
    /// The user can undo it.
    void setRecipe(const ChartRecipe& recipe);
    QString command() const override;
    QString timeFilterWords() const override
    {
        return tr("Charts are of whole runs: medians of timed steps, and peaks.");
    }

protected:
    void showRuns(const std::vector<SelectedRun>& runs) override;

private:
    void openRun(const QString& uid);
    QWidget* makeTools();
    void fillForm(QScrollArea& scroll);
    void addData(QFormLayout& form);
    void addAxes(QFormLayout& form);
    void addStatistics(QFormLayout& form);
    void addPaper(QFormLayout& form);
    ComboBox* makeBox(const QString& name, const QStringList& words);
    QCheckBox* makeCheck(const QString& words);
    QDoubleSpinBox* makeSpin(const QString& name, double least, double most, const QString& unit);
    void fillBelow(QWidget& below);
    void fillKeys();
    void fillExamples(QMenu& menu);
    void applyRecipe(const ChartRecipe& recipe);
    void noteChange(const ChartRecipe& before, bool wasChosen, const QString& series = {});
    void readForm();
    void readPaper();
    void showPaper();
    static QString wordsOf(const Chart& chart);
    void draw();
    void fitControlsToX();
    void openRecipe();
    void saveRecipe();
    void exportFigure();
    void copyFigure();
    void say(const QString& sentence);
    QString noteOf(const Chart& chart) const;
    QString fileName() const;

    JobTracker loading_{this};
    QString machine_; // of the selected runs
    std::vector<SelectedRun> runs_;
    ChartRecipe recipe_;
    bool chosen_ = false; // the user has chosen or changed the recipe
    Chart chart_;
    QLineEdit* title_ = nullptr;
    QLineEdit* filter_ = nullptr;
    ComboBox* x_ = nullptr;
    ComboBox* y_ = nullptr;
    ComboBox* series_ = nullptr;
    ComboBox* facet_ = nullptr;
    ComboBox* bars_ = nullptr;
    ComboBox* fit_ = nullptr;
    ComboBox* preset_ = nullptr;
    ComboBox* palette_ = nullptr;
    QCheckBox* formula_ = nullptr;
    QCheckBox* outOfMemory_ = nullptr;
    QCheckBox* grid_ = nullptr;
    QCheckBox* dashes_ = nullptr;
    QDoubleSpinBox* width_ = nullptr;
    QDoubleSpinBox* height_ = nullptr;
    QDoubleSpinBox* textSize_ = nullptr;
    SegmentedControl* xAxis_ = nullptr;
    SegmentedControl* yAxis_ = nullptr;
    SegmentedControl* centre_ = nullptr;
    QLabel* grey_ = nullptr;
    QLabel* problem_ = nullptr;
    QLabel* note_ = nullptr; ///< remarks on the figure; hidden if there are none
    FigureView* figure_ = nullptr;
    ChartPlot* plot_ = nullptr;
    TableView* rows_ = nullptr;
    TableView* fits_ = nullptr;
    QLabel* caption_ = nullptr;
    MessageStack* stack_;
};

} // namespace tilescope::ui
