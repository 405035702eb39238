#include "ui/compare/inside_changes.h"

#include "core/exchange/kernels/inside_columns.h"
#include "ui/kernels/inside_rows.h"
#include "ui/kit/table_cells.h"
#include "ui/kit/tone.h"

#include <QObject>

#include <algorithm>
#include <cmath>

namespace tilescope::ui {

using exchange::InsideDifferenceColumns;

TableData insideChangeRows(const query::InsideDifference& difference)
{
    using Change = query::InsideDifferenceRow;
    const bool isByLine = difference.group == query::InsideGroup::Line;
    const bool isTimed =
        std::ranges::any_of(difference.rows, [](const Change& row) { return row.delta().has_value(); });
    const auto changeOf = [isTimed](const Change& row) {
        return isTimed ? row.delta() : std::optional(row.points());
    };
    double most = 0;
    for (const Change& row : difference.rows)
        most = std::max(most, std::abs(changeOf(row).value_or(0)));
    const InsideDifferenceColumns of;
    TableMaker<Change> table(difference.rows);
    table.add(of.kernel, 130);
    if (isByLine) {
        table.add(of.line, 130, [](TableCell& cell, const Change& row) {
            cell.exact = joinedWords(QString::fromStdString(InsideDifferenceColumns::lineOf(row).file),
                                     QString::fromStdString(row.function));
        });
        table
            .add(of.text, 0,
                 [](TableCell& cell, const Change& row) {
                     if (row.text.empty())
                         cell.text = QString::fromStdString(row.function);
                     cell.tone = Tone::Dim;
                 })
            .code = true;
    } else {
        table.add(of.state, 0).sentence = true;
    }
    table.add(isTimed ? of.timeA : of.percentA, 76, kMissingIsZero).title = QStringLiteral("A");
    table.add(isTimed ? of.timeB : of.percentB, 76, kMissingIsZero).title = QStringLiteral("B");
    table.add(isTimed ? of.delta : of.points, 84,
              [changeOf, isTimed](TableCell& cell, const Change& row, const Unit& unit) {
                  const std::optional<double> change = changeOf(row);
                  if (!change)
                      return;
                  cell.text = signedColumnDigits(*change, unit);
                  // Without times, more samples of a line or state are no loss by themselves.
                  cell.tone = isTimed ? toneOf(*change, true) : Tone::Plain;
              });
    table.add(makeColumn({}, TableColumn::Kind::SignedBar, 100), [changeOf, most](const Change& row) {
        TableCell bar;
        const std::optional<double> change = changeOf(row);
        bar.signedBar = change && most > 0 ? *change / most : 0;
        bar.sort = change.value_or(0);
        return bar;
    });
    TableData data = table.table(difference.rows, [isByLine](const Change& row) {
        return isByLine ? Swatch() : Swatch::of(hueOfState(row.reason));
    });
    data.columns.front().swatch = !isByLine;
    return data;
}

} // namespace tilescope::ui
