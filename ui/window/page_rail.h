#pragma once

#include "ui/theme/icons.h"

#include <QAbstractButton>
#include <QKeySequence>

class QButtonGroup;
class QVBoxLayout;

namespace tilescope::ui {

/// An entry of the page rail: icon above word.
class RailButton : public QAbstractButton {
    Q_OBJECT
public:
    RailButton(Icon icon, const QString& text, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    Icon icon_;
};

/// The key of the page at that place of the rail: Ctrl+1 to Ctrl+9, then Alt+1, Alt+2, …
QKeySequence pageKey(int index);

/// The column of pages at the left edge.
class PageRail : public QWidget {
    Q_OBJECT
public:
    explicit PageRail(QWidget* parent = nullptr);

    /// Adds a page; those `atBottom` are at the lower end.
    void add(int id, Icon icon, const QString& text, const QString& shortcut, bool atBottom = false);
    void setCurrent(int id);

signals:
    void chosen(int id);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QButtonGroup* group_;
    QVBoxLayout* layout_;
    int above_ = 0; // entries before the stretch
};

} // namespace tilescope::ui
