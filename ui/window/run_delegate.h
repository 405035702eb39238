#pragma once

#include <QStyledItemDelegate>
#include <QTreeView>

class QIcon;

namespace tilescope::ui {

/// Draws a run's first column: its status as a sign, its number, its title and its letter.
class RunDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

    /// The name of a run as it is drawn in a cell of its column: the whole title, else the short one, else what
    /// varies in the file, whose first word gives way to the numbers.
    static QString nameIn(const QRect& cell, const QModelIndex& index);
    /// The width in which a sign, a number of two digits, twelve characters of a name and a letter have room.
    static int leastNameWidth();
};

/// The tree of the run dock: the row of a file or a group spans all columns. Such a row is never selected: a click on
/// its arrow or a double click folds it, a click beside the arrow or Enter asks for its runs.
class RunTreeView : public QTreeView {
    Q_OBJECT
public:
    using QTreeView::QTreeView;

signals:
    /// \param extends  they are to be added to the selection
    void runsWanted(const QModelIndex& branch, bool extends);

protected:
    QItemSelectionModel::SelectionFlags selectionCommand(const QModelIndex& index,
                                                         const QEvent* event) const override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void drawRow(QPainter* painter, const QStyleOptionViewItem& option,
                 const QModelIndex& index) const override;
    void paintEvent(QPaintEvent* event) override;
    void drawBranches(QPainter*, const QRect&, const QModelIndex&) const override {}

private:
    static bool isBranch(const QModelIndex& index);
    static double arrowLeft(const QModelIndex& branch);
};

} // namespace tilescope::ui
