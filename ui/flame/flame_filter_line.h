#pragma once

#include "core/query/calls/call_tree.h"

#include <QWidget>

#include <vector>

class QHBoxLayout;
class QPushButton;

namespace tilescope::ui {

class ElidedLabel;

/// The filters of a flame graph in a line: a button for each, which removes it, how much they hide, and a button that clears
/// them. Hidden without filters. GUI thread.
class FlameFilterLine : public QWidget {
    Q_OBJECT
public:
    explicit FlameFilterLine(QWidget* parent = nullptr);

    /// \param hidden  what they hide, in words
    void show(const std::vector<query::CallFilter>& filters, const QString& hidden);
    const std::vector<QPushButton*>& buttons() const { return buttons_; }

signals:
    /// Emitted when the user removes one or all filters.
    void filtersWanted(std::vector<tilescope::query::CallFilter> filters);

private:
    std::vector<query::CallFilter> filters_;
    QHBoxLayout* row_;
    std::vector<QPushButton*> buttons_; ///< by filter
    ElidedLabel* hidden_;
    QPushButton* clear_;
};

} // namespace tilescope::ui
