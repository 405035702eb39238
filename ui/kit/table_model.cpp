#include "ui/kit/table_model.h"

#include "ui/kit/number_text.h"

#include <algorithm>

namespace tilescope::ui {

void TableModel::setData(TableData data)
{
    const bool sameShape =
        data.columns.size() == data_.columns.size() && data.rows.size() == data_.rows.size() &&
        std::equal(data.columns.begin(), data.columns.end(), data_.columns.begin(),
                   [](const TableColumn& a, const TableColumn& b) { return a.title == b.title; }) &&
        std::equal(data.rows.begin(), data.rows.end(), data_.rows.begin(),
                   [](const TableRow& a, const TableRow& b) { return a.id == b.id; });
    if (sameShape) {
        data_ = std::move(data);
        if (!data_.rows.empty() && !data_.columns.empty())
            emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
        return;
    }
    beginResetModel();
    data_ = std::move(data);
    endResetModel();
}

const TableCell& TableModel::cell(const QModelIndex& index) const
{
    return data_.rows[std::size_t(index.row())].cells[std::size_t(index.column())];
}

int TableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int(data_.rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int(data_.columns.size());
}

namespace {

// The full value of a cell alone; of a number that has none, the number with the unit of its column.
QString exactText(const TableColumn& column, const TableCell& cell)
{
    if (!cell.exact.isEmpty())
        return cell.exact;
    const qsizetype comma = column.title.lastIndexOf(QLatin1String(", "));
    if (column.kind != TableColumn::Kind::Number || std::isnan(cell.sort) || comma < 0)
        return cell.text;
    return cell.text + QChar(0x2009) + column.title.mid(comma + 2);
}

// For screen readers, also of a cell that is only drawn.
QString spokenText(const TableColumn& column, const TableCell& cell)
{
    if (!cell.text.isEmpty())
        return cell.text;
    if (!cell.exact.isEmpty())
        return cell.exact;
    const double part = column.kind == TableColumn::Kind::SignedBar ? cell.signedBar : cell.bar;
    return std::isnan(part) || (part < 0 && column.kind == TableColumn::Kind::Bar) ? QObject::tr("empty")
                                                                                   : percentText(part);
}

} // namespace

QVariant TableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid())
        return {};
    const TableRow& row = data_.rows[std::size_t(index.row())];
    const TableCell& value = cell(index);
    const TableColumn& column = data_.columns[std::size_t(index.column())];
    switch (role) {
    case Qt::DisplayRole:
        return value.text;
    case Qt::AccessibleTextRole:
        return spokenText(column, value);
    case Qt::ToolTipRole:
    case ExactRole:
        return exactText(column, value);
    case Qt::TextAlignmentRole:
        return int((column.kind == TableColumn::Kind::Number ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    case SortRole:
        return std::isnan(value.sort) ? QVariant(value.text) : QVariant(value.sort);
    case IdRole:
        return QVariant::fromValue(row.id);
    default:
        return {};
    }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
        return {};
    const TableColumn& column = data_.columns[std::size_t(section)];
    if (role == Qt::DisplayRole)
        return column.title;
    if (role == Qt::ToolTipRole)
        return column.tip;
    if (role == Qt::TextAlignmentRole)
        return int((column.kind == TableColumn::Kind::Number ? Qt::AlignRight : Qt::AlignLeft) |
                   Qt::AlignVCenter);
    return {};
}

Qt::ItemFlags TableModel::flags(const QModelIndex& index) const
{
    if (!index.isValid())
        return {};
    const bool selectable = data_.rows[std::size_t(index.row())].selectable;
    return Qt::ItemNeverHasChildren | Qt::ItemIsEnabled |
           (selectable ? Qt::ItemIsSelectable : Qt::NoItemFlags);
}

TableFilter::TableFilter(QObject* parent) : QSortFilterProxyModel(parent)
{
    setSortRole(TableModel::SortRole);
}

const TableModel* TableFilter::table() const
{
    return static_cast<const TableModel*>(sourceModel());
}

void TableFilter::setWords(const QString& filter)
{
    words_ = filter.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    invalidateFilter();
}

bool TableFilter::holds(const TableRow& row, const QString& word) const
{
    const auto has = [](const TableCell& cell, const QString& text) {
        return cell.text.contains(text, Qt::CaseInsensitive) ||
               cell.exact.contains(text, Qt::CaseInsensitive);
    };
    const qsizetype colon = word.indexOf(QLatin1Char(':'));
    const std::vector<TableColumn>& columns = table()->table().columns;
    for (std::size_t c = 0; colon > 0 && c < columns.size(); ++c) {
        const QString title =
            columns[c].title.section(QLatin1Char(','), 0, 0).section(QLatin1Char(' '), 0, 0);
        if (title.compare(word.left(colon), Qt::CaseInsensitive) == 0)
            return has(row.cells[c], word.mid(colon + 1));
    }
    return std::any_of(row.cells.begin(), row.cells.end(),
                       [&](const TableCell& cell) { return has(cell, word); });
}

bool TableFilter::filterAcceptsRow(int row, const QModelIndex&) const
{
    const TableRow& cells = table()->row(row);
    return std::all_of(words_.begin(), words_.end(), [&](const QString& word) { return holds(cells, word); });
}

bool TableFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    const bool ascending = sortOrder() == Qt::AscendingOrder;
    const TableRow& a = table()->row(left.row());
    const TableRow& b = table()->row(right.row());
    // Totals and the rows below a rule keep their place.
    if (a.strong != b.strong)
        return ascending == b.strong;
    const double x = table()->cell(left).sort;
    const double y = table()->cell(right).sort;
    if (std::isnan(x) != std::isnan(y))
        return ascending == std::isnan(y); // unmeasured values come last
    if (std::isnan(x))
        return order_.compare(table()->cell(left).text, table()->cell(right).text) < 0;
    return x != y ? x < y : (ascending ? left.row() < right.row() : left.row() > right.row());
}

QString tableText(const TableData& data, QChar separator)
{
    const auto field = [separator](QString text) {
        if (separator == QLatin1Char('\t'))
            return text.replace(QLatin1Char('\t'), QLatin1Char(' '));
        if (text.contains(separator) || text.contains(QLatin1Char('"')))
            return QLatin1Char('"') + text.replace(QLatin1Char('"'), QLatin1String("\"\"")) +
                   QLatin1Char('"');
        return text;
    };
    QString out;
    QStringList line;
    for (const TableColumn& column : data.columns)
        if (column.kind == TableColumn::Kind::Text || column.kind == TableColumn::Kind::Number)
            line << field(column.title);
    out += line.join(separator) + QLatin1Char('\n');
    for (const TableRow& row : data.rows) {
        line.clear();
        for (std::size_t c = 0; c < data.columns.size(); ++c) {
            const TableColumn::Kind kind = data.columns[c].kind;
            if (kind == TableColumn::Kind::Text || kind == TableColumn::Kind::Number)
                line << field(row.cells[c].exact.isEmpty() ? row.cells[c].text : row.cells[c].exact);
        }
        out += line.join(separator) + QLatin1Char('\n');
    }
    return out;
}

} // namespace tilescope::ui
