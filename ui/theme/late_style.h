#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// Keeps a change of theme short: styles a widget that is hidden during the change, with its children, only
/// when it is shown again. Belongs to the widget. GUI thread.
class LateStyle : public QObject {
    Q_OBJECT
public:
    explicit LateStyle(QWidget& widget);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void leaveOut();
    void style();

    QWidget& widget_;
    std::vector<QPointer<QWidget>> waiting_;
};

} // namespace tilescope::ui
