#pragma once

#include "ui/kit/table_model.h"
#include "ui/theme/icons.h"

#include <QColor>
#include <QHeaderView>
#include <QStyledItemDelegate>

#include <optional>

namespace tilescope::ui {

struct Palette;

/// The colour of a swatch in a palette.
QColor colourOf(const Swatch& swatch, const Palette& palette);
/// The colour of a memory category by its word.
QColor categoryColour(const QString& category, const Palette& palette);

/// The appearance of text with a tone: a colour, and an icon before the text.
struct Toned {
    QColor colour;
    std::optional<Icon> sign;
    bool bold = false;
};
Toned tonedBy(Tone tone, const Palette& palette);

/// Draws the cells of a TableModel: swatches, bars, strips, tones. A text that is too wide wraps if its row has
/// room for all its lines; otherwise it is elided.
class TableDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;

    /// Additional width of a text, in pixels: the padding of a cell, and the sign of its tone.
    static int padding(int column);
    static int signWidth(Tone tone);
    /// Lines of a text that wraps at this width.
    static int lineCount(const QString& text, const QFontMetrics& metrics, int width);
    static QFont fontOf(const TableRow& row, const TableCell& cell);
};

/// Headers in small dim type; the sorting column's header is bold, with a small triangle.
class TableHeader : public QHeaderView {
    Q_OBJECT
public:
    explicit TableHeader(QWidget* parent = nullptr);

protected:
    void paintSection(QPainter* painter, const QRect& rect, int section) const override;
};

} // namespace tilescope::ui
