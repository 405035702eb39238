#pragma once

#include "ui/plots/timeline_painter.h"

#include <QAbstractScrollArea>
#include <QPoint>

#include <vector>

namespace tilescope::ui {

/// The timeline of one or several runs: overview strip, ruler and lanes, with zoom, pan and selection.
///
/// Owns the TimelineScene and changes it by what mouse and keyboard do; draws it through TimelinePainter. GUI
/// thread.
class TimelineView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TimelineView(QWidget* parent = nullptr);

    /// Shows these runs, fitted. Keeps the window where `keepWindow` is set.
    void setSections(std::vector<TimelineSection> sections, bool keepWindow = false);
    /// The same runs, of which some have grown: keeps what the user chose, and the window unless it showed
    /// all.
    void growSections(const std::vector<std::shared_ptr<const query::Timeline>>& timelines);
    const TimelineScene& scene() const { return scene_; }

    const TimeWindow& window() const { return scene_.window; }
    /// Moves to a window; recorded in the zoom history where `remember` is set.
    void setWindow(const TimeWindow& window, bool remember = true);
    void fit();
    void zoomToSelection();
    void back();
    void forward();
    bool canGoBack() const { return !past_.empty(); }
    bool canGoForward() const { return !future_.empty(); }

    void select(std::optional<SectionItem> item);
    void setSpan(std::optional<TimeWindow> span);
    /// Makes the span that of the selected box.
    void measureSelection();
    /// Rings these boxes: what a search found.
    void setFound(std::vector<SectionItem> found);
    void setFolded(std::size_t section, std::size_t view, bool folded);
    /// Brings an item on screen, not closer than it needs.
    void reveal(const SectionItem& item);

signals:
    void windowChanged();
    void selectionChanged();
    void spanChanged();
    /// What is under the cursor, for the status bar; empty where it left.
    void cursorMoved(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    enum class Drag { None, Pan, Span, OverviewMove, OverviewLeft, OverviewRight };

    int width() const { return viewport()->width(); }
    int height() const { return viewport()->height(); }
    void relayout();
    std::optional<TimeWindow> selectedWindow() const; ///< of the selected box, on the axis
    void zoom(double factor, double x);
    void dragOverview(QPoint at);
    void hover(QPoint at);
    void paintHover(QPainter& painter);
    QString describe(const SectionItem& item, QString& second) const;
    void pressOnLabel(QPoint at);
    void pressOnOverview(QPoint at);
    double overviewAxisAt(double x) const;

    TimelineScene scene_;
    TimelinePainter painter_;
    std::vector<TimeWindow> past_;
    std::vector<TimeWindow> future_;
    Drag drag_ = Drag::None;
    QPoint pressedAt_;
    TimeWindow pressedWindow_;
    QPoint cursor_{-1, -1};
    std::optional<SectionItem> hovered_;
};

} // namespace tilescope::ui
