#pragma once

#include "ui/kit/table_model.h"

#include <QSize>
#include <QString>

#include <functional>
#include <optional>
#include <vector>

class QImage;
class QPainter;
class QWidget;

namespace tilescope::ui {

/// A part of a page that can be exported: a picture, a table, or both.
struct Exportable {
    QString name; ///< Timeline, Kernels, …
    QSize size;   ///< logical pixels that it has on screen
    /// Draws it into the logical rectangle (0, 0, size); `vector` where shapes must stay shapes. None for a
    /// table that is drawn as one.
    std::function<void(QPainter& painter, const QSize& size, bool vector)> draw = {};
    std::optional<TableData> table = {};  ///< its contents, for CSV
    std::function<TableText()> text = {}; ///< makes the CSV of data too long for a TableData

    bool hasTable() const { return table || text; }
};

/// The CSV of an exportable part.
/// \pre hasTable()
TableText csvOf(const Exportable& what);

/// The file formats of an export.
enum class ExportFormat { Pdf, Svg, Png, Csv };
QString suffixOf(ExportFormat format);

struct ExportOptions {
    ExportFormat format = ExportFormat::Pdf;
    QSize size;       ///< logical pixels; 96 of them are an inch on paper
    double scale = 1; ///< PNG: pixels for a logical one
    QString title;    ///< of the document
};

/// Writes a part of a page to a file: PDF and SVG as shapes and text, PNG as pixels, CSV as the table.
/// \throws Error  the file cannot be written, or there is no table to write
void writeExport(const Exportable& what, const ExportOptions& options, const QString& file);

/// Draws an image, for the clipboard.
/// \param scale  pixels for a logical one
QImage imageOf(const Exportable& what, const QSize& size, double scale);

/// A preview at `size`, scaled to fit into `box`; of a table that would be unreadable, its upper left part.
/// \param ratio  pixels of the screen for a logical one
QImage previewOf(const Exportable& what, const QSize& size, const QSize& box, double ratio);

/// A descriptive file name without spaces: {"demo", "run 1", "Kernels of the span"} gives
/// demo-run-1-kernels-of-the-span. The first part keeps its capitals; parts that repeat the previous one are
/// omitted.
QString fileNameOf(const QStringList& parts);

/// Draws a table as text and bars, one row under the other.
void drawTable(QPainter& painter, const TableData& table, const QSize& size);
/// The size of a table with all its rows.
QSize sizeOfTable(const TableData& table, int width);

/// RFC 4180 with a header; fields that a spreadsheet would take for a formula are quoted with an apostrophe.
QString csvOf(const TableData& table);

} // namespace tilescope::ui
