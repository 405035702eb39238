#pragma once

#include "ui/kit/table_model.h"

#include <functional>

class QCustomPlot;
class QPoint;
class QWidget;

namespace tilescope::ui {

/// Opens a view's menu: copy it as an image, or its data as a table.
/// \param table  its data; no columns if it has none
void openCopyMenu(QWidget& view, const QPoint& at, const std::function<TableData()>& table);

/// The values that a plot shows: one row per point, by line. No rows if there are none.
TableData tableOf(const QCustomPlot& plot);

/// The first rows in words, for the accessible description of a picture.
QString spokenRows(const TableData& table);

} // namespace tilescope::ui
