#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

namespace tilescope::ui {

class Panel;
class TableView;
class Workspace;

/// What the window shows while no file is open: a demo, files to open, how to record a program, and the files that
/// were opened before. GUI thread.
class StartView : public QWidget {
    Q_OBJECT
public:
    explicit StartView(Workspace& workspace, QWidget* parent = nullptr);

signals:
    /// Files are to be opened; none: the user is to choose them.
    void filesWanted(const QStringList& paths);
    /// The user wants to record a program.
    void recordWanted();

protected:
    void showEvent(QShowEvent* event) override;

private:
    Panel* makeDemo();
    Panel* makeOpen();
    Panel* makeRecord();
    Panel* makeRecent();
    void fillRecent();
    void runDemo();
    void followDemo();

    Workspace& workspace_;
    QString demo_; ///< the recording of a demo that was started here; empty: none
    TableView* recent_;
    Panel* recentPanel_ = nullptr; ///< hidden while there are none
};

} // namespace tilescope::ui
