#pragma once

#include "ui/kit/time_axis.h"
#include "ui/ranks/rank_lanes_frame.h"

#include <QWidget>

#include <optional>

namespace tilescope::ui {

/// The ranks of a step as lanes on one clock: the work of each above its collectives, hatched while they wait for the rank
/// that starts last. Bands join a collective over the ranks. Left and Right move between collectives, Up and Down
/// between ranks; Ctrl and the wheel, + and - zoom, a drag pans. Paints itself; GUI thread.
class RankLanesPlot : public QWidget {
    Q_OBJECT
public:
    explicit RankLanesPlot(QWidget* parent = nullptr);

    /// Keeps what is marked, and the interval shown if the step is the same.
    void show(RankLanes lanes);
    const RankLanes& lanes() const { return lanes_; }
    void setWork(std::shared_ptr<const query::Timeline> timeline);
    /// Emphasizes the band of a collective, an index into RanksTable::collectives.
    void mark(std::optional<std::size_t> collective);
    void fit();
    bool isZoomed() const { return window_ != whole(); }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Draws into the logical rectangle (0, 0, size); what exports use too.
    void draw(QPainter& painter, const QSize& size) const;
    TableData table() const { return lanes_.table(); }
    /// The rectangle of a collective of a rank; `part` is one of its parts.
    QRectF partRect(std::size_t rank, const RankLanes::Part& part) const;
    /// The band of a collective, an index into `lanes().collectives`, from each rank that takes part to the next one.
    std::vector<QPolygonF> bandsOf(std::size_t collective) const;

signals:
    /// What is under the cursor in words; empty if there is nothing.
    void cursorText(const QString& text);
    /// A collective was clicked, or marked by the keyboard.
    void marked(std::size_t collective);
    /// A box was double-clicked, or Enter was pressed on a collective.
    void eventWanted(DeviceIndex device, StreamId stream, Timestamp start);
    /// Whether the whole step is shown may have changed.
    void windowChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool event(QEvent* event) override;

private:
    struct Place {
        std::size_t rank = 0;
        const RankLanes::Part* part = nullptr;
    };
    struct Work {
        const query::Lane* lane = nullptr;
        const query::Track* track = nullptr;
        std::size_t item = 0;

        bool isOnStream() const { return lane->kind == query::Lane::Kind::Stream; }
    };

    TimeWindow whole() const { return {0, std::max(1.0, lanes_.length)}; }
    RankLanesFrame frameOf(const QSize& size) const;
    std::optional<Place> partAt(const QPointF& at) const;
    std::optional<Work> workAt(const QPointF& at) const;
    QString wordsAt(const QPointF& at) const;
    void makeKeys();
    void setWindow(const TimeWindow& window);
    void zoom(double factor, double fixed);
    void move(int collectives, int ranks);
    void describe();

    RankLanes lanes_;
    TimeWindow window_;
    std::optional<std::size_t> marked_; ///< index into lanes_.collectives
    std::size_t rank_ = 0;              ///< of the keyboard
    std::optional<QPointF> pressed_;
    double pressedFrom_ = 0; ///< of the window
    bool isDragged_ = false;
};

} // namespace tilescope::ui
