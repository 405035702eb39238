#pragma once

#include "ui/kit/table_model.h"
#include "ui/kit/workspace.h"
#include "ui/window/run_tree_model.h"

#include <QDockWidget>
#include <QHash>
#include <QSet>

class QFrame;
class QLabel;
class QLineEdit;
class QMenu;
class QVBoxLayout;

namespace tilescope::ui {

class KeyValueTable;
class RunEdits;
class RunTreeView;

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
    /// Adds the actions for a row of the list, and for the selected runs if the row is one of them.
    void fillMenu(QMenu& menu, const QModelIndex& row);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    std::vector<RunKey> runsAt(const QModelIndex& clicked) const;
    void followFiles();
    void followSelection();
    void showSelection();
    void takeSelection();
    void chooseBelow(const QModelIndex& branch, bool extends);
    void restoreView();
    void selectRows();
    bool isOpen(const QModelIndex& branch) const;
    void keepOpen(const QModelIndex& branch, bool isOpen);
    void openGroups(bool isOpen);
    void noteFolding(const QHash<QString, bool>& before, const QHash<QString, bool>& after);
    void describeSelection();
    void showDetails();
    void shareHeight();
    void openMenu(const QPoint& at);
    void addBranchActions(QMenu& menu, const QModelIndex& branch);
    void addFilter(QMenu& menu, const QString& text, const QString& key, const QString& value);
    void fillFilterMenu(QMenu& menu);
    void makeTree();
    void makeContent();
    void fillTop(QFrame& top);
    void layColumns();
    void fitColumns();
    void growFor(int column);
    void fillColumnMenu(QMenu& menu);

    Workspace& workspace_;
    RunEdits* edits_;
    RunTreeModel* model_;
    QLineEdit* filterField_;
    RunTreeView* tree_;
    QSet<int> hidden_; // columns
    QHash<QString, bool>
        open_; // files and groups that the user has folded or unfolded, by RunTreeModel::branchKey()
    QLabel* title_;
    KeyValueTable* details_;
    QWidget* detailsArea_ = nullptr;
    bool choosing_ = false; // the selection changes because the user selects runs in the tree
    bool applying_ = false; // the tree is being made to follow the workspace
};

} // namespace tilescope::ui
