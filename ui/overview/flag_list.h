#pragma once

#include "ui/overview/overview_figures.h"

#include <QWidget>

namespace tilescope::ui {

/// Flags as rows: a sign, a word, a sentence, and a link to the page that says more. Click or Enter follows
/// the link. Paints itself; GUI thread.
class FlagList : public QWidget {
    Q_OBJECT
public:
    explicit FlagList(QWidget* parent = nullptr);

    void show(std::vector<Flag> flags);
    const std::vector<Flag>& flags() const { return flags_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

signals:
    void pageWanted(const QString& page);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;

private:
    int rowAt(int y) const;
    void layRows();
    static int textLeft();
    static int linkWidth(const Flag& flag);

    std::vector<Flag> flags_;
    std::vector<int> tops_{0}; // of the rows, and the end of the last one
    int current_ = 0;          // of the keyboard
};

} // namespace tilescope::ui
