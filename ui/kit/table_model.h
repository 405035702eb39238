#pragma once

#include "core/query/timeline/hue.h"
#include "ui/kit/natural_order.h"

#include <QAbstractTableModel>
#include <QByteArray>
#include <QColor>
#include <QSortFilterProxyModel>
#include <QString>

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tilescope::ui {

/// The tone of a cell's text: a sign in addition to a colour.
enum class Tone { Plain, Dim, Strong, Better, Worse, Warning, Link };

/// The colour of a swatch or a bar: a hue, a memory category by name, or an individual colour.
struct Swatch {
    enum class Kind { None, Hue, Category, Neutral, Own } kind = Kind::None;
    query::Hue hue = query::Hue::Other;
    QString category;
    QColor own = {}; ///< the colour of a line on paper, equal in light and dark themes

    static Swatch of(query::Hue hue) { return {Kind::Hue, hue, {}}; }
    static Swatch ofCategory(const QString& category)
    {
        return {Kind::Category, query::Hue::Other, category};
    }
    static Swatch ofLine(const QColor& colour) { return {Kind::Own, query::Hue::Other, {}, colour}; }
    static Swatch neutral() { return {Kind::Neutral, query::Hue::Range, {}}; }
};

struct TableCell {
    QString text;
    double sort = std::numeric_limits<double>::quiet_NaN(); ///< sorted by text if it is not a number
    QString exact; ///< full value, on hover and on copy; empty: the text
    Tone tone = Tone::Plain;
    double bar = -1;       ///< 0 to 1 of the column's width; below 0: none
    double secondBar = -1; ///< the second bar of a pair, paler
    double signedBar = std::numeric_limits<double>::quiet_NaN(); ///< -1 to 1 about the middle
    std::array<double, 3> strip = {-1, -1, -1};                  ///< least, mean, greatest as 0 to 1
    std::vector<std::pair<query::Hue, double>>
        stack; ///< parts of a bar, 0 to 1 of the column's width together
};

struct TableRow {
    std::vector<TableCell> cells; ///< one a column
    Swatch swatch;
    std::int64_t id = 0;  ///< the owner's id of the row
    bool strong = false;  ///< totals
    bool section = false; ///< draws a rule above it, because its kind differs from the rows above
    bool selectable = true;
};

struct TableColumn {
    enum class Kind { Text, Number, Bar, Strip, SignedBar, Stack };
    QString title;
    Kind kind = Kind::Text;
    double width = 0;    ///< design pixels; 0: takes the remaining width
    bool swatch = false; ///< a swatch with the row's colour precedes its text
    bool dim = false;
    bool sortable = true;
    bool sentence = false; ///< text that is too long loses its end; names lose their middle
    bool code = false;     ///< source text: of fixed width, on one line
    QString tip;
};

/// A table as plain values.
struct TableData {
    std::vector<TableColumn> columns;
    std::vector<TableRow> rows;
};

/// A table as text, and a description of its contents.
struct TableText {
    QByteArray text;
    QString holds;
};

/// The model of every table of the window: shows a TableData.
class TableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role { SortRole = Qt::UserRole, IdRole, ExactRole };

    explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    using QAbstractTableModel::setData;
    void setData(TableData data);
    const TableData& table() const { return data_; }
    const TableRow& row(int row) const { return data_.rows[std::size_t(row)]; }
    const TableCell& cell(const QModelIndex& index) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

private:
    TableData data_;
};

/// Sorts by values rather than by texts (texts with their numbers as numbers), keeps totals last, and keeps
/// rows that have every word of the filter: any text, or `family:softmax` for a text in the column of that
/// title.
class TableFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit TableFilter(QObject* parent = nullptr);
    void setWords(const QString& filter);
    const TableModel* table() const;

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    bool holds(const TableRow& row, const QString& word) const;

    QStringList words_;
    QCollator order_ = naturalOrder();
};

/// Tab-separated, with a header; uses `exact` texts if present.
QString tableText(const TableData& data, QChar separator);

} // namespace tilescope::ui
