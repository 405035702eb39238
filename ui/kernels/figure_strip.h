#pragma once

#include "ui/kernels/inside_rows.h"

#include <QWidget>

#include <vector>

class QHBoxLayout;

namespace tilescope::ui {

/// Key figures of a kernel side by side, those of the run before beneath. GUI thread.
class FigureStrip : public QWidget {
    Q_OBJECT
public:
    explicit FigureStrip(QWidget* parent = nullptr);

    void show(const std::vector<InsideFigure>& figures);

private:
    QHBoxLayout* layout_;
};

} // namespace tilescope::ui
