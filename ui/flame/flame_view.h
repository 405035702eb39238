#pragma once

#include "core/query/calls/flame_graph.h"

#include <QWidget>

#include <memory>
#include <optional>

namespace tilescope::ui {

/// Draws a flame graph from the top down: a click selects a box, a double click or Enter gives it the whole width,
/// Backspace goes back to the box around it, arrow keys move the selection, a right click asks for a menu. GUI thread.
class FlameView : public QWidget {
    Q_OBJECT
public:
    using Node = query::CallTree::Node;

    explicit FlameView(QWidget* parent = nullptr);

    /// Shows everything of another graph, nothing selected; null: nothing.
    void show(std::shared_ptr<const query::FlameGraph> graph);
    const query::FlameGraph* graph() const { return graph_.get(); }
    /// Outlines boxes.
    void setMatches(query::FlameMatches matches);

    /// The selected box, `kRoot` for none.
    Node selected() const { return selected_; }
    void select(Node node);
    /// The box that has the whole width, `kRoot` for everything.
    Node zoomed() const { return zoomed_; }
    void zoomTo(Node node);
    /// The box at a point.
    std::optional<Node> at(QPoint point) const;
    /// The rectangle of a box, clipped at the left and right edges of the view; empty if it is not drawn.
    QRectF rectOf(Node node) const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;
    /// Draws the whole graph at another size.
    void draw(QPainter& painter, const QSize& size) const;
    /// The boxes as lines of CSV: as `show tree --format csv`.
    QByteArray csv() const;

signals:
    /// The user wants the menu of a box, or of none, at a point of the screen.
    void menuWanted(tilescope::query::CallTree::Node node, QPoint at);
    void selectionChanged();
    void zoomChanged();
    /// The cursor is on another box, or on none.
    void hovered(std::optional<tilescope::query::CallTree::Node> node);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool event(QEvent* event) override;

private:
    void describe();
    void paintRow(QPainter& painter, std::size_t row, const QSize& size) const;
    void paintBox(QPainter& painter, const query::FlameBox& box, const QRectF& rect, std::size_t row) const;
    QString tipOf(Node node) const;
    void moveSelection(int key);
    void reveal(Node node);
    double xOf(std::int64_t time, double width) const;
    int rowHeight() const;

    std::shared_ptr<const query::FlameGraph> graph_;
    query::FlameMatches matches_;
    Node selected_ = query::CallTree::kRoot;
    Node zoomed_ = query::CallTree::kRoot;
    std::optional<Node> under_;
};

/// "1.01 ms", "12 MiB" or "3.4 GFLOP": an amount of what the graph shows; of idle time that of a mean step.
QString amountText(const query::CallTreeTable& tree, double amount);
/// "12 GPU activities": of a box; of two runs those of both, "A 12 GPU activities in 2 steps, …" where times are of a step.
QString countText(const query::FlameGraph& graph, query::CallTree::Node node);
/// "1.01 ms, 29.8 %": the amount of a box and its share of the whole graph; of two runs "A 1.01 ms, B 0.98 ms, −3.0 %".
QString shareText(const query::FlameGraph& graph, query::CallTree::Node node);

} // namespace tilescope::ui
