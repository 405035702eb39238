#pragma once

#include "ui/window/command_dialog.h"

#include <QKeySequence>
#include <QObject>
#include <QString>
#include <QStringList>

#include <functional>
#include <set>

class QAction;
class QMenu;

namespace tilescope::ui {

class MainWindow;

/// The window's menus and their keys. Owned by the window; GUI thread.
class WindowMenus : public QObject {
    Q_OBJECT
public:
    explicit WindowMenus(MainWindow& window);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void makeFile();
    void makeEdit();
    void makeView();
    void makeTools();
    void makeHelp();
    void runCommand(Command command);
    void fillRecent();
    QAction* add(QMenu* menu, const QString& text, const QKeySequence& keys,
                 const std::function<void()>& does);

    MainWindow& window_;
    std::set<QKeySequence> commands_; ///< shortcuts with Ctrl or Alt; text fields must not consume them
    QMenu* recent_ = nullptr;
};

} // namespace tilescope::ui
