#pragma once

#include <QPointer>
#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// Styles the widgets in a hidden one in short turns, as Qt does in one turn when it is shown. GUI thread.
class GradualPolish {
public:
    explicit GradualPolish(QWidget& hidden);

    /// Styles widgets for some milliseconds.
    /// \return  whether all are styled
    bool takeTurn();

private:
    std::vector<QPointer<QWidget>> left_; ///< outer ones first
};

} // namespace tilescope::ui
