#pragma once

#include <QWidget>

#include <utility>
#include <vector>

namespace tilescope::ui {

/// A line of a KeyValueTable: a key and one value a column, or a heading.
struct KeyValueRow {
    QString key;
    QStringList values;
    bool heading = false; ///< drawn raised; values are column titles
    bool strong = false;
    bool dim = false; ///< values in the colour of keys
};

/// Keys on the left, values right-aligned, for details panels. A key, or a single value beside it, that does not
/// fit takes several lines. With the keyboard focus, Up and Down move through the rows, and Ctrl+C copies the values of
/// the current one. Paints itself; GUI thread.
class KeyValueTable : public QWidget {
    Q_OBJECT
public:
    explicit KeyValueTable(QWidget* parent = nullptr);

    /// \param valuesLeft  values start at one x behind the keys instead of ending at the right edge
    void setRows(std::vector<KeyValueRow> rows, bool valuesLeft = false);
    const std::vector<KeyValueRow>& rows() const { return rows_; }
    /// Whether a value is elided.
    bool isElided(std::size_t row, int value) const;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    /// The rows take another height than before, since they or the width have changed.
    void heightChanged();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    bool moveCurrent(int by);
    void showCurrent();
    void describe();
    QRect rowRect(std::size_t row) const;
    int keyWidth() const;
    int columnWidth(int columns) const;
    int heightOf(std::size_t row) const;
    std::pair<int, int> valueSpan(std::size_t row, int value) const;
    void layRows();
    QRect valueRect(std::size_t row, int value) const;
    static QFont fontOf(const KeyValueRow& row);

    std::vector<KeyValueRow> rows_;
    std::size_t current_ = 0;           ///< row of the keyboard; a heading if there is no other row
    std::vector<int> tops_{0};          ///< of the rows, and the end of the last one
    std::vector<QStringList> lines_;    ///< of a value that does not fit on one; otherwise empty
    std::vector<QStringList> keyLines_; ///< lines of a key that does not fit on one; otherwise empty
    bool valuesLeft_ = false;
};

} // namespace tilescope::ui
