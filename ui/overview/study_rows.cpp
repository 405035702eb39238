#include "ui/overview/study_rows.h"

#include "ui/charts/timeline_figure.h"
#include "ui/kit/table_cells.h"

#include <QObject>

namespace tilescope::ui {

namespace {

constexpr int kSketchWidth = 116; // design pixels

} // namespace

bool isTimeline(const report::Figure& figure)
{
    return TimelineRecipe::isOne(QByteArray::fromStdString(figure.recipe));
}

std::vector<const report::Figure*> chartsOf(const report::Section& section)
{
    std::vector<const report::Figure*> charts;
    for (const report::Figure& figure : section.figures)
        if (!isTimeline(figure))
            charts.push_back(&figure);
    return charts;
}

TableData studyRows(const report::Document& document, bool hasCharts)
{
    using Kind = TableColumn::Kind;
    using report::Section;
    TableMaker<Section> maker;
    if (hasCharts) {
        TableColumn chart = makeColumn(QObject::tr("Chart"), Kind::Text, kSketchWidth);
        chart.sortable = false;
        maker.add(chart, [](const Section& section) {
            const std::vector<const report::Figure*> charts = chartsOf(section);
            return charts.empty() ? makeWords(QObject::tr("no chart"), {}, Tone::Dim)
                                  : makeWords(QString::fromStdString(charts.front()->caption));
        });
    }
    TableColumn question = makeColumn(QObject::tr("Study"), Kind::Text, 0);
    question.sentence = true;
    maker.add(question, [](const Section& section) {
        return makeWords(QString::fromStdString(section.asks),
                         QString::fromStdString(section.title + ": " + section.asks));
    });
    TableColumn finding = makeColumn(QObject::tr("First finding"), Kind::Text, 0);
    finding.sentence = true;
    maker.add(finding, [](const Section& section) {
        return section.findings.empty() ? makeWords(QObject::tr("none yet"), {}, Tone::Dim)
                                        : makeWords(QString::fromStdString(section.findings.front().text));
    });
    maker.add(makeColumn(QObject::tr("Points"), Kind::Text, 150), [](const Section& section) {
        const bool failed = section.counts.failed > 0;
        return makeWords(QString::fromStdString(section.counts.textOf(section.points)), {},
                         failed ? Tone::Warning : Tone::Dim);
    });
    return maker.table(document.sections, [](const Section&) { return Swatch{}; });
}

} // namespace tilescope::ui
