#pragma once

#include "ui/kit/table_model.h"
#include "ui/kit/workspace.h"
#include "ui/window/run_tree_model.h"

#include <QDockWidget>
#include <QSet>

class QLabel;
class QLineEdit;
class QMenu;
class QTreeView;
class QVBoxLayout;

namespace tilescope::ui {

class KeyValueTable;
class RunEdits;

/// The dock with the open files and their runs, and below them what is selected. What is selected in it is
/// what every page shows.
class RunDock : public QDockWidget {
    Q_OBJECT
public:
    explicit RunDock(Workspace& workspace, QWidget* parent = nullptr);

    void focusFilter();
    /// Scrolls to the file's row.
    void reveal(int file);
    /// Every run that the filter keeps, with every column.
    TableData table() const;
    RunEdits& edits() { return *edits_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    std::vector<RunTreeFile> rows() const;
    std::vector<RunKey> runsAt(const QModelIndex& clicked) const;
    void followWorkspace();
    void followSelection();
    void takeSelection();
    void describeSelection();
    void showDetails();
    void shareHeight();
    void openMenu(const QPoint& at);
    void makeTree();
    void makeContent();
    QWidget* makeTop();
    void layColumns();
    void fitColumns();
    void growFor(int column);
    void fillColumnMenu(QMenu& menu);

    Workspace& workspace_;
    RunEdits* edits_;
    RunTreeModel* model_;
    RunTreeFilter* filter_;
    QLineEdit* filterField_;
    QTreeView* tree_;
    QSet<int> hidden_; // columns
    QLabel* title_;
    KeyValueTable* details_;
    QWidget* detailsArea_ = nullptr;
    bool choosing_ = false; // the selection changes because the user selects runs in the tree
    bool applying_ = false; // the tree is being made to follow the workspace
};

} // namespace tilescope::ui
