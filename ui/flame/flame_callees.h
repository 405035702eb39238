#pragma once

#include "core/query/calls/flame_graph.h"

#include <QWidget>

#include <memory>
#include <string>

class QLabel;

namespace tilescope::ui {

class FlameView;

/// The lower half of a sandwich: what a call calls, below the graph of its callers. Hidden without a graph. GUI thread.
class FlameCallees : public QWidget {
    Q_OBJECT
public:
    explicit FlameCallees(QWidget* parent = nullptr);

    /// \param graph  of the stacks from the call on; null: none
    /// \param name   of the call
    void show(std::shared_ptr<const query::FlameGraph> graph, const std::string& name);
    FlameView& view() { return *view_; }

signals:
    /// The box under the cursor, for the status bar; empty: none.
    void hovered(const QString& text);

private:
    QLabel* title_;
    FlameView* view_;
    std::shared_ptr<const query::FlameGraph> graph_;
};

} // namespace tilescope::ui
