#pragma once

#include "ui/kit/table_model.h"
#include "ui/overview/overview_figures.h"

#include <QWidget>

namespace tilescope::ui {

/// Where each run's step goes: a bar of parts a run, on one time axis, the saving as an arrow behind a
/// shorter second bar, a legend below. Paints itself; GUI thread.
class StepBarPlot : public QWidget {
    Q_OBJECT
public:
    explicit StepBarPlot(QWidget* parent = nullptr);

    /// \param verdict    on the step times of two runs; none: the bars are not compared
    /// \param otherwise  the message without bars
    void show(std::vector<StepBar> bars, std::optional<analysis::Verdict> verdict,
              const QString& otherwise = {});
    /// The tone of the difference of two bars; Dim unless it has the direction of the verdict.
    Tone savingTone() const;
    QSize sizeHint() const override;
    int heightForWidth(int width) const override;
    QSize minimumSizeHint() const override { return {sizeHint().width() / 2, sizeHint().height()}; }
    /// Draws into the logical rectangle (0, 0, size); what exports use too.
    void draw(QPainter& painter, const QSize& size) const;
    /// The shown values as a table.
    TableData table() const;
    /// The words of the legend.
    QStringList legend() const;

signals:
    /// A part of a bar was clicked.
    void partChosen(const StepPart& part);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Frame;

    Frame frameOf(const QSize& size) const;
    std::optional<std::pair<std::size_t, std::size_t>> partAt(const QPoint& at) const; ///< bar and part
    QStringList titles(const Frame& frame) const;
    std::vector<const StepPart*> legendParts() const;
    std::vector<QPointF> legendPlaces(double width) const;
    void drawBar(QPainter& painter, const Frame& frame, std::size_t bar, const QString& title) const;
    void drawAxis(QPainter& painter, const Frame& frame) const;
    void drawSaving(QPainter& painter, const Frame& frame) const;
    void drawLegend(QPainter& painter, const Frame& frame, int width) const;

    std::vector<StepBar> bars_;
    std::optional<analysis::Verdict> verdict_ = {};
    QString otherwise_;
};

} // namespace tilescope::ui
