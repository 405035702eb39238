#pragma once

#include "ui/jobs/job_tracker.h"

#include <QDateTime>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <optional>
#include <vector>

class QLabel;
class QPushButton;

namespace tilescope::ui {

class DropBox;
struct ExampleRecording;
class Panel;
class TableView;
class Workspace;

/// A file of the list of recent files.
struct RecentRow {
    QString path;
    QString holds; ///< runs, studies and last program when it was open; empty: not known
    /// State of the disk, read in the background.
    struct Found {
        bool exists = false;
        bool isFolder = false;
        QDateTime changed = {};
        qint64 bytes = 0;
    };
    std::optional<Found> found = {}; ///< none: not looked at so far
};

/// What the window shows while no file is open: a demo, files to open, examples, how to record a program, and the files that
/// were opened before with what they held. Reads no file in the GUI thread, to which it belongs, but copies examples there.
class StartView : public QWidget {
    Q_OBJECT
public:
    explicit StartView(Workspace& workspace, QWidget* parent = nullptr);

    /// Shows that files are dragged over the window, and what dropping them does; empty: none are.
    void showDrag(const QString& words);

signals:
    /// Files are to be opened; none: the user is to choose them.
    void filesWanted(const QStringList& paths);
    /// The user wants to record a program.
    void recordWanted();
    /// The timelines of the demo are shown; what one sees in them.
    void demoShown(const QString& sentence);

protected:
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    Panel* makeDemo();
    Panel* makeOpen();
    Panel* makeExamples();
    Panel* makeRecord();
    Panel* makeRecent();
    void readRecent();
    void fillRecent();
    void lookForRecent();
    void openRecent(const QString& path);
    void removeRecent(const QStringList& paths);
    void forgetRecent(const QStringList& paths);
    void removeMissing();
    void removeAll();
    void showPreview();
    void runDemo();
    void openExample(const ExampleRecording& example);
    void followDemo();

    Workspace& workspace_;
    QString demo_;           ///< a recording whose timelines of two attentions are to be shown; empty: none
    QString demoLength_;     ///< the sequence length of both
    bool isExample_ = false; ///< it is a copy of an example, which holds both already
    TableView* recent_;
    Panel* recentPanel_ = nullptr; ///< hidden while there are none
    QPushButton* removeMissing_ = nullptr;
    QLabel* preview_ = nullptr; ///< of the current row; hidden while there is none
    DropBox* drop_ = nullptr;
    std::vector<RecentRow> files_; ///< as listed
    bool isLookWanted_ = false;    ///< when the list is painted
    JobTracker looking_{this};
    JobTracker previewing_{this};
};

} // namespace tilescope::ui
