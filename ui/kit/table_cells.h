#pragma once

#include "ui/kit/table_model.h"

namespace tilescope::ui {

/// \param width  design pixels; 0: takes the remaining width
TableColumn makeColumn(const QString& title, TableColumn::Kind kind, double width, bool dim = false);

/// \param exact  full value, on hover and on copy; empty: the text
TableCell makeWords(const QString& text, const QString& exact = {}, Tone tone = Tone::Plain);

/// As long as `part` is of `most`, and sorted by it.
TableCell makeBar(double part, double most);

} // namespace tilescope::ui
