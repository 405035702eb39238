#pragma once

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A line of a KeyValueTable: a key and one value a column, or a heading.
struct KeyValueRow {
    QString key;
    QStringList values;
    bool heading = false; ///< drawn raised; values are column titles
    bool strong = false;
};

/// Keys on the left, values right-aligned, for details panels. Paints itself; GUI thread.
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

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    QRect rowRect(std::size_t row) const;
    int keyWidth() const;
    QRect valueRect(std::size_t row, int value) const;
    static QFont fontOf(const KeyValueRow& row);

    std::vector<KeyValueRow> rows_;
    bool valuesLeft_ = false;
};

} // namespace tilescope::ui
