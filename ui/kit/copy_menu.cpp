#include "ui/kit/copy_menu.h"

#include "ui/kit/table_cells.h"

#include <QApplication>
#include <QClipboard>
#include <QMenu>

#include <qcustomplot.h>

#include <algorithm>

namespace tilescope::ui {

namespace {

TableCell valueCell(double value)
{
    TableCell cell = makeWords(QString::number(value, 'g', 9));
    cell.sort = value;
    return cell;
}

} // namespace

void openCopyMenu(QWidget& view, const QPoint& at, const std::function<TableData()>& table)
{
    QMenu menu(&view);
    menu.addAction(QObject::tr("Copy as image"), &view,
                   [&view] { QApplication::clipboard()->setPixmap(view.grab()); });
    TableData data = table();
    QAction* copy = menu.addAction(QObject::tr("Copy data as table"), &view, [data = std::move(data)] {
        QApplication::clipboard()->setText(tableText(data, QLatin1Char('\t')));
    });
    copy->setEnabled(!table().rows.empty());
    menu.exec(at);
}

TableData tableOf(const QCustomPlot& plot)
{
    using Kind = TableColumn::Kind;
    TableData data;
    const auto title = [](const QCPAxis* axis, const char* otherwise) {
        return axis == nullptr || axis->label().isEmpty() ? QString::fromLatin1(otherwise) : axis->label();
    };
    data.columns = {makeColumn(QObject::tr("Line"), Kind::Text, 0)};
    for (int i = 0; i < plot.plottableCount(); ++i) {
        QCPAbstractPlottable* plottable = const_cast<QCustomPlot&>(plot).plottable(i);
        auto* points = plottable->interface1D();
        if (points == nullptr || !plottable->realVisibility() ||
            qobject_cast<QCPErrorBars*>(plottable) != nullptr)
            continue;
        if (data.columns.size() == 1) {
            data.columns.push_back(makeColumn(title(plottable->keyAxis(), "x"), Kind::Number, 110));
            data.columns.push_back(makeColumn(title(plottable->valueAxis(), "y"), Kind::Number, 110));
        }
        for (int at = 0; at < points->dataCount(); ++at) {
            TableRow& row = data.rows.emplace_back();
            row.id = std::int64_t(data.rows.size()) - 1;
            row.cells = {makeWords(plottable->name()), valueCell(points->dataMainKey(at)),
                         valueCell(points->dataMainValue(at))};
        }
    }
    return data;
}

QString spokenRows(const TableData& table)
{
    constexpr std::size_t kMostRows = 16;
    QStringList lines;
    for (std::size_t i = 0; i < std::min(kMostRows, table.rows.size()); ++i) {
        QStringList words;
        for (const TableCell& cell : table.rows[i].cells)
            words << (cell.exact.isEmpty() ? cell.text : cell.exact);
        words.removeAll(QString());
        lines << words.join(QLatin1Char(' '));
    }
    if (table.rows.size() > kMostRows)
        lines << QObject::tr("and %1 more").arg(table.rows.size() - kMostRows);
    return lines.join(QStringLiteral("; "));
}

} // namespace tilescope::ui
