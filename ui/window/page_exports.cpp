#include "ui/window/page_exports.h"

#include "ui/charts/figure_view.h"
#include "ui/compare/distribution_plot.h"
#include "ui/experiment/point_grid_view.h"
#include "ui/flame/flame_view.h"
#include "ui/kit/copy_menu.h"
#include "ui/kit/key_value_table.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/table_view.h"
#include "ui/kit/themed_plot.h"
#include "ui/kit/vector_drawing.h"
#include "ui/machine/machine_page.h"
#include "ui/memory/memory_chart.h"
#include "ui/overview/flag_list.h"
#include "ui/overview/key_figure_card.h"
#include "ui/overview/step_bar_plot.h"
#include "ui/ranks/lateness_plot.h"
#include "ui/ranks/rank_lanes_plot.h"
#include "ui/timeline/timeline_csv.h"
#include "ui/timeline/timeline_view.h"
#include "ui/waiting/mean_step_bar.h"
#include "ui/window/run_dock.h"

#include <QPainter>

namespace tilescope::ui {

namespace {

using Kind = TableColumn::Kind;

TableRow& addRow(TableData& table, const QStringList& words)
{
    TableRow& row = table.rows.emplace_back();
    row.id = std::int64_t(table.rows.size()) - 1;
    for (const QString& word : words)
        row.cells.push_back(makeWords(word));
    return row;
}

TableData emptyTable(const QStringList& titles)
{
    TableData table;
    for (const QString& title : titles)
        table.columns.push_back(makeColumn(title, Kind::Text, table.columns.empty() ? 0 : 160));
    return table;
}

// Draws a widget that paints itself, scaled to another size.
std::function<void(QPainter&, const QSize&, bool)> drawing(QWidget& widget)
{
    return [&widget](QPainter& painter, const QSize& size, bool vector) {
        std::optional<VectorDrawing> shapes;
        if (vector)
            shapes.emplace();
        painter.scale(double(size.width()) / widget.width(), double(size.height()) / widget.height());
        widget.render(&painter, {}, {}, QWidget::DrawWindowBackground | QWidget::DrawChildren);
    };
}

TableData figuresTable(const std::vector<KeyFigureCard*>& cards)
{
    TableData table = emptyTable({QObject::tr("Figure"), QObject::tr("Run"), QObject::tr("Value"),
                                  QObject::tr("Unit"), QObject::tr("Detail"), QObject::tr("Verdict")});
    for (const KeyFigureCard* card : cards)
        for (const KeyFigure::Line& line : card->figure().lines)
            addRow(table, {card->figure().title, line.letter, line.number, line.unit, line.detail,
                           card->figure().verdict});
    return table;
}

TableData flagsTable(const FlagList& list)
{
    const QString words[] = {QObject::tr("fine"), QObject::tr("note"), QObject::tr("warning"),
                             QObject::tr("error")};
    TableData table =
        emptyTable({QObject::tr("Flag"), QObject::tr("Kind"), QObject::tr("Finding"), QObject::tr("Advice")});
    for (const Flag& flag : list.flags())
        addRow(table, {flag.title, words[std::size_t(flag.kind)], flag.text, flag.advice});
    return table;
}

TableData factsTable(const KeyValueTable& facts)
{
    std::size_t values = 1;
    for (const KeyValueRow& row : facts.rows())
        values = std::max(values, std::size_t(row.values.size()));
    QStringList titles{QObject::tr("Key")};
    for (std::size_t i = 0; i < values; ++i)
        titles << (values == 1 ? QObject::tr("Value") : QObject::tr("Value %1").arg(i + 1));
    TableData table = emptyTable(titles);
    for (const KeyValueRow& row : facts.rows()) {
        QStringList words{row.key};
        words += row.values;
        while (words.size() < qsizetype(values) + 1)
            words << QString();
        addRow(table, words);
    }
    return table;
}

TableData gridTable(const PointGridView& view)
{
    const PointGrid& grid = view.grid();
    QStringList titles{grid.rowKey};
    titles += grid.columnKeys;
    titles << QObject::tr("Result");
    TableData table = emptyTable(titles);
    for (std::size_t row = 0; row < std::size_t(grid.rows.size()); ++row)
        for (std::size_t column = 0; column < grid.columns.size(); ++column) {
            const std::size_t at = row * grid.columns.size() + column;
            if (grid.cells[at] < 0 || at >= view.cells().size())
                continue;
            QStringList words{grid.rows[qsizetype(row)]};
            words += grid.columns[column];
            words << view.cells()[at].text;
            addRow(table, words);
        }
    return table;
}

void add(std::vector<Exportable>& all, const QString& name, QWidget* drawn, TableData table)
{
    if (table.rows.empty())
        return;
    Exportable one{name, drawn != nullptr ? drawn->size() : sizeOfTable(table, 720), {}, std::move(table)};
    if (drawn != nullptr)
        one.draw = drawing(*drawn);
    all.push_back(std::move(one));
}

QString nameOf(const QWidget& widget, const QString& otherwise)
{
    return widget.accessibleName().isEmpty() ? otherwise : widget.accessibleName();
}

std::optional<TableData> someTable(TableData table)
{
    return table.rows.empty() ? std::nullopt : std::optional(std::move(table));
}

Exportable wholePage(QWidget& page, const QString& title)
{
    return {title, page.size(), drawing(page), {}};
}

// Draws a widget that also draws itself in another size.
template <class Widget> std::function<void(QPainter&, const QSize&, bool)> drawnBy(Widget* widget)
{
    return [widget](QPainter& painter, const QSize& size, bool) { widget->draw(painter, size); };
}

template <class Plot> void addPlots(std::vector<Exportable>& all, const QWidget& page)
{
    for (Plot* plot : page.findChildren<Plot*>())
        if (plot->isVisibleTo(&page))
            all.push_back({plot->accessibleName(), plot->size(), drawnBy(plot), someTable(plot->table())});
}

} // namespace

std::vector<Exportable> exportablesOf(QWidget& page, const QString& title)
{
    std::vector<Exportable> all{wholePage(page, title)};
    for (TimelineView* view : page.findChildren<TimelineView*>())
        if (view->isVisibleTo(&page))
            all.push_back({nameOf(*view, QObject::tr("Timeline")),
                           view->wholeSize(),
                           [view](QPainter& painter, const QSize& size, bool vector) {
                               TimelinePainter drawer;
                               drawer.paint(painter, view->wholeScene(), size.width(), size.height(), vector);
                           },
                           {},
                           [view] { return timelineCsv(excerptsOf(view->scene())); }});
    for (MemoryChart* chart : page.findChildren<MemoryChart*>())
        if (chart->isVisibleTo(&page))
            all.push_back(
                {nameOf(*chart, QObject::tr("Memory")),
                 chart->size(),
                 [chart](QPainter& painter, const QSize& size, bool vector) {
                     chart->draw(painter, size, vector);
                 },
                 {},
                 [chart] { return csvOf(Exportable{.name = {}, .size = {}, .table = chart->table()}); }});
    for (ThemedPlot* plot : page.findChildren<ThemedPlot*>())
        if (plot->isVisibleTo(&page))
            all.push_back(
                {nameOf(*plot, QObject::tr("Plot")), plot->size(),
                 [plot](QPainter& painter, const QSize& size, bool) { plot->drawVectors(painter, size); },
                 someTable(tableOf(*plot))});
    for (FigureView* figure : page.findChildren<FigureView*>())
        if (figure->isVisibleTo(&page) && !figure->paper().isEmpty())
            all.push_back({figure->accessibleName(), figure->paper(), drawnBy(figure),
                           someTable(tableOf(figure->plot()))});
    for (FlameView* flame : page.findChildren<FlameView*>())
        if (flame->isVisibleTo(&page))
            all.push_back({flame->accessibleName(), flame->size(), drawnBy(flame), {}, [flame] {
                               return TableText{flame->csv(), QObject::tr("boxes")};
                           }});
    addPlots<StepBarPlot>(all, page);
    addPlots<MeanStepBar>(all, page);
    addPlots<RankLanesPlot>(all, page);
    addPlots<LatenessPlot>(all, page);
    addPlots<DistributionPlot>(all, page);
    for (TableView* view : page.findChildren<TableView*>())
        if (view->isVisibleTo(&page)) {
            TableData table = view->shown();
            const QSize size = sizeOfTable(table, view->width());
            all.push_back({nameOf(*view, QObject::tr("Table")), size, {}, std::move(table)});
        }
    return all;
}

QString keyFiguresName()
{
    return QObject::tr("Key figures");
}

QString findingsName()
{
    return QObject::tr("Findings");
}

std::vector<Exportable> exportsOf(Page& page, RunDock& dock)
{
    std::vector<Exportable> all = exportablesOf(page, QObject::tr("the whole page"));
    std::vector<KeyFigureCard*> cards;
    for (KeyFigureCard* card : page.findChildren<KeyFigureCard*>())
        if (card->isVisibleTo(&page))
            cards.push_back(card);
    add(all, keyFiguresName(), nullptr, figuresTable(cards));
    for (FlagList* flags : page.findChildren<FlagList*>())
        if (flags->isVisibleTo(&page))
            add(all, flags->accessibleName(), flags, flagsTable(*flags));
    for (KeyValueTable* facts : page.findChildren<KeyValueTable*>())
        if (facts->isVisibleTo(&page))
            add(all, facts->accessibleName(), facts, factsTable(*facts));
    for (PointGridView* grid : page.findChildren<PointGridView*>())
        if (grid->isVisibleTo(&page))
            add(all, grid->accessibleName(), grid->viewport(), gridTable(*grid));
    if (const auto* machine = dynamic_cast<const MachinePage*>(&page))
        add(all, findingsName(), nullptr, machine->findingsTable());
    add(all, QObject::tr("Run list"), nullptr, dock.table());
    for (Exportable& one : all)
        if (one.name.isEmpty())
            one.name = QObject::tr("Details");
    return all;
}

} // namespace tilescope::ui
