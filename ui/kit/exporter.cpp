#include "ui/kit/exporter.h"

#include "core/base/error.h"
#include "core/base/output_file.h"
#include "ui/kit/count_text.h"
#include "ui/kit/number_text.h"
#include "ui/kit/table_view.h"
#include "ui/theme/theme.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <QWidget>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

namespace {

constexpr double kPixelsPerInch = 96;

[[noreturn]] void fail(const QString& file, const QString& why)
{
    throw Error{.what = "cannot write: " + why.toStdString(),
                .where = file.toStdString(),
                .kind = ErrorKind::Failure};
}

void drawInto(QPainter& painter, const Exportable& what, const QSize& size, bool vector)
{
    painter.setClipRect(QRect(QPoint(0, 0), size));
    painter.fillRect(QRect(QPoint(0, 0), size), colours().surface);
    if (what.draw)
        what.draw(painter, size, vector);
    else if (what.table)
        drawTable(painter, *what.table, size);
}

/// Overwrites `begin` to `end` with spaces, so that the offsets in a PDF stay valid.
void blankOut(QByteArray& pdf, QByteArrayView begin, QByteArrayView end)
{
    const qsizetype from = pdf.indexOf(begin);
    const qsizetype to = from < 0 ? -1 : pdf.indexOf(end, from);
    if (to >= 0)
        std::fill(pdf.begin() + from, pdf.begin() + to + end.size(), ' ');
}

void writePdf(const Exportable& what, const ExportOptions& options, const QString& file, QIODevice& out)
{
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter pdf(&buffer);
    pdf.setResolution(
        int(kPixelsPerInch)); // its pixels are the screen's, and so a point is as large as there
    pdf.setTitle(options.title);
    pdf.setCreator(QStringLiteral("Tilescope"));
    const QSizeF inches(options.size.width() / kPixelsPerInch, options.size.height() / kPixelsPerInch);
    pdf.setPageSize(QPageSize(inches, QPageSize::Inch, {}, QPageSize::ExactMatch));
    pdf.setPageMargins(QMarginsF(0, 0, 0, 0));
    QPainter painter;
    if (!painter.begin(&pdf))
        fail(file, out.errorString());
    drawInto(painter, what, options.size, true);
    if (!painter.end())
        fail(file, out.errorString());
    // Removed so that output is reproducible: both entries are optional and contain the time and the number
    // of the drawing.
    QByteArray bytes = buffer.data();
    blankOut(bytes, "/CreationDate (", ")");
    blankOut(bytes, "/ID [", "]");
    if (out.write(bytes) != bytes.size())
        fail(file, out.errorString());
}

void writeSvg(const Exportable& what, const ExportOptions& options, const QString& file, QIODevice& out)
{
    QSvgGenerator svg;
    svg.setOutputDevice(&out);
    svg.setSize(options.size);
    svg.setViewBox(QRect(QPoint(0, 0), options.size));
    svg.setResolution(int(kPixelsPerInch));
    svg.setTitle(options.title);
    QPainter painter;
    if (!painter.begin(&svg))
        fail(file, out.errorString());
    drawInto(painter, what, options.size, true);
    if (!painter.end())
        fail(file, out.errorString());
}

QString csvField(QString text)
{
    if (!text.isEmpty() && QStringLiteral("=+-@\t\r").contains(text[0])) {
        bool number = false;
        text.toDouble(&number);
        if (!number)
            text.prepend(QLatin1Char('\''));
    }
    if (text.contains(QLatin1Char(',')) || text.contains(QLatin1Char('"')) ||
        text.contains(QLatin1Char('\n')))
        return QLatin1Char('"') + text.replace(QLatin1Char('"'), QStringLiteral("\"\"")) + QLatin1Char('"');
    return text;
}

} // namespace

QString suffixOf(ExportFormat format)
{
    switch (format) {
    case ExportFormat::Pdf:
        return QStringLiteral("pdf");
    case ExportFormat::Svg:
        return QStringLiteral("svg");
    case ExportFormat::Png:
        return QStringLiteral("png");
    case ExportFormat::Csv:
        return QStringLiteral("csv");
    }
    return {};
}

void writeExport(const Exportable& what, const ExportOptions& options, const QString& file)
{
    plainOutputPath(file.toStdString()); // checks the path before drawing
    QBuffer out;
    out.open(QIODevice::WriteOnly);
    switch (options.format) {
    case ExportFormat::Pdf:
        writePdf(what, options, file, out);
        break;
    case ExportFormat::Svg:
        writeSvg(what, options, file, out);
        break;
    case ExportFormat::Png:
        if (!imageOf(what, options.size, options.scale).save(&out, "PNG"))
            fail(file, out.errorString());
        break;
    case ExportFormat::Csv:
        if (!what.hasTable())
            throw Error{.what = what.name.toStdString() + " has no table",
                        .where = file.toStdString(),
                        .remedy = "choose PDF, SVG or PNG"};
        out.write(csvOf(what).text);
        break;
    }
    writeOutput(file.toStdString(), out.data().toStdString());
}

QImage imageOf(const Exportable& what, const QSize& size, double scale)
{
    // Cached pictures, such as a timeline's lanes, have at least one pixel per logical pixel.
    const double drawn = std::max(1.0, scale);
    QImage image(size * drawn, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(drawn);
    image.fill(colours().surface);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::TextAntialiasing);
    drawInto(painter, what, size, false);
    painter.end();
    if (scale >= 1)
        return image;
    image.setDevicePixelRatio(1);
    return image.scaled(size * scale, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
}

QImage previewOf(const Exportable& what, const QSize& size, const QSize& box, double ratio)
{
    constexpr double kMostPixels = 3e7; // of the drawing that is scaled down
    constexpr double kReadable = 0.6;
    const auto fitting = [&box](const QSize& wanted) {
        return std::min({1.0, double(box.width()) / wanted.width(), double(box.height()) / wanted.height()});
    };
    QSize drawn = size;
    if (what.table && !what.draw && fitting(size) < kReadable)
        drawn = size.boundedTo(box / kReadable);
    const double pixels = double(drawn.width()) * drawn.height();
    if (pixels > kMostPixels)
        drawn *= std::sqrt(kMostPixels / pixels);
    QImage image = imageOf(what, drawn, fitting(drawn) * ratio);
    image.setDevicePixelRatio(ratio);
    return image;
}

QString fileNameOf(const QStringList& parts)
{
    QStringList words;
    for (const QString& part : parts) {
        QString word;
        for (const QChar c : words.isEmpty() ? part : part.toLower())
            if (c.isLetterOrNumber() || c == QLatin1Char('.') || c == QLatin1Char('_'))
                word += c;
            else if (!word.isEmpty() && !word.endsWith(QLatin1Char('-')))
                word += QLatin1Char('-');
        while (word.endsWith(QLatin1Char('-')))
            word.chop(1);
        if (!word.isEmpty() && (words.isEmpty() || words.back() != word))
            words << word;
    }
    return words.join(QLatin1Char('-'));
}

TableText csvOf(const Exportable& what)
{
    if (what.text)
        return what.text();
    const auto rows = std::int64_t(what.table->rows.size());
    return {csvOf(*what.table).toUtf8(), counted(rows, "row")};
}

QSize sizeOfTable(const TableData& table, int width)
{
    return {width, sizes().header + sizes().row * int(table.rows.size())};
}

void drawTable(QPainter& painter, const TableData& table, const QSize& size)
{
    // Painted by the view's own delegate, so that the export looks as on screen.
    TableView view;
    view.setAttribute(Qt::WA_DontShowOnScreen);
    view.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    view.setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    view.setSortingEnabled(false);
    view.resize(size);
    view.show(table);
    view.resize(size);
    view.ensurePolished();
    view.render(&painter, {}, {}, QWidget::DrawWindowBackground | QWidget::DrawChildren);
}

QString csvOf(const TableData& table)
{
    QString text;
    const auto line = [&text](const QStringList& fields) {
        text += fields.join(QLatin1Char(',')) + QStringLiteral("\r\n");
    };
    QStringList header;
    std::vector<std::size_t> columns; // those that hold values: not bars
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        const TableColumn::Kind kind = table.columns[c].kind;
        if (kind != TableColumn::Kind::Text && kind != TableColumn::Kind::Number)
            continue;
        columns.push_back(c);
        header << csvField(table.columns[c].title);
    }
    line(header);
    for (const TableRow& row : table.rows) {
        QStringList fields;
        for (const std::size_t c : columns) {
            const TableCell& cell = row.cells[c];
            const bool number = table.columns[c].kind == TableColumn::Kind::Number;
            QString field = cell.text;
            if (number) // as a program reads it
                field.remove(QChar(0x2009))
                    .replace(QChar(0x2212), QLatin1Char('-'))
                    .replace(QStringLiteral("–"), QString());
            fields << csvField(field);
        }
        line(fields);
    }
    return text;
}

} // namespace tilescope::ui
