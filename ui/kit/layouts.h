#pragma once

#include <QBoxLayout>

namespace tilescope::ui {

/// A row or column of widgets with the same margin on all sides.
/// \tparam Layout  QHBoxLayout or QVBoxLayout
/// \param parent   owns the layout
template <class Layout> Layout* newLayout(QWidget* parent, int margin, int spacing)
{
    auto* layout = new Layout(parent);
    layout->setContentsMargins(margin, margin, margin, margin);
    layout->setSpacing(spacing);
    return layout;
}

} // namespace tilescope::ui
