#pragma once

#include "core/query/advice/advice_table.h"

#include <QWidget>

#include <memory>

class QVBoxLayout;

namespace tilescope::ui {

/// What would shorten the time in which the GPU waits: findings, each with its remedy and a command that measures the
/// program again. GUI thread.
class HelpList : public QWidget {
    Q_OBJECT
public:
    explicit HelpList(QWidget* parent = nullptr);

    /// Replaces the list by a sentence.
    void say(const QString& sentence);
    /// \param again  records the program again; empty: its command line is unknown
    void show(const query::AdviceTable& advice, const QString& again);

private:
    void clear();
    void add(const query::AdviceTable& advice, const query::Advice& finding, const QString& again);

    QVBoxLayout* column_;
};

} // namespace tilescope::ui
