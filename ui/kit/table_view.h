#pragma once

#include "ui/kit/table_delegate.h"
#include "ui/kit/table_model.h"

#include <QHash>
#include <QSet>
#include <QTableView>

#include <vector>

class QAction;
class QMenu;

namespace tilescope::ui {

/// A table on a TableModel behind a TableFilter, with our header, delegate, row heights, copying and
/// keyboard.
class TableView : public QTableView {
    Q_OBJECT
public:
    explicit TableView(QWidget* parent = nullptr);

    void show(TableData rows);
    TableFilter& filter() { return *filter_; }
    const TableData& table() const { return model_->table(); }
    /// The id of the current row; null if there is none.
    std::optional<std::int64_t> currentId() const;
    /// Makes the row of that id current without emitting a signal.
    void setCurrentId(std::optional<std::int64_t> id);
    void setRowHeight(double design);
    /// Texts of the column that takes the remaining width wrap to this many lines if it is too narrow for them;
    /// all rows then have the height of the one with the most lines.
    void setMostLines(int lines);
    /// The same, but each row has the height of its own lines. For tables of few rows.
    void setMostLinesOfEach(int lines);
    /// The table as shown: sorted, filtered, without the columns that are hidden.
    TableData shown() const;
    /// Actions that show and hide columns.
    void fillColumnMenu(QMenu& menu);
    /// A column's text elided to `width` pixels. Different texts of the first rows never look alike.
    QString elided(int column, const QString& text, int width) const;
    /// The least width at which every number of a column is whole, and the signs before them.
    int numberWidth(int column) const;

signals:
    /// Another row is current, by mouse or keyboard.
    void chosen(std::int64_t id);
    /// Enter or double click on a row.
    void activatedRow(std::int64_t id);
    /// The rows have another height, since their texts wrap differently.
    void rowHeightChanged(int height);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void layColumns();
    void layLines();
    int linesOf(const TableRow& row) const;
    void keepWidth(int column, int width);
    bool holdsNothing(std::size_t column) const;
    int neededWidth(std::size_t column) const;
    int textWidth(std::size_t column) const;
    int titleWidth(int column) const;
    QString keyOf(int column) const;
    void copyTable();
    void copyImage();
    void openColumnMenu(const QPoint& at);
    bool isHidden(int column) const;

    TableModel* model_;
    TableFilter* filter_;
    QAction* copy_;
    QSet<QString> hidden_;                  // titles without units, because units change with the data
    QHash<QString, int> dragged_;           // widths set by the user, by title
    std::vector<int> numberWidths_;         // of the columns; 0 for those without numbers
    using Elided = QHash<QString, QString>; // as shown, by text
    mutable QHash<std::pair<int, int>, Elided> elided_; // by column and width
    int rowHeight_ = 0;                                 // of one line
    int mostLines_ = 1;
    bool isEachRowFitted_ = false; // to its lines
    bool quiet_ = false;
    bool laying_ = false;
};

} // namespace tilescope::ui
