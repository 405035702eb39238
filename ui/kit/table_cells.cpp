#include "ui/kit/table_cells.h"

namespace tilescope::ui {

TableColumn makeColumn(const QString& title, TableColumn::Kind kind, double width, bool dim)
{
    TableColumn column;
    column.title = title;
    column.kind = kind;
    column.width = width;
    column.dim = dim;
    return column;
}

TableCell makeWords(const QString& text, const QString& exact, Tone tone)
{
    TableCell cell;
    cell.text = text;
    cell.exact = exact;
    cell.tone = tone;
    return cell;
}

TableCell makeBar(double part, double most)
{
    TableCell cell;
    cell.bar = most > 0 ? part / most : 0;
    cell.sort = part;
    return cell;
}

} // namespace tilescope::ui
