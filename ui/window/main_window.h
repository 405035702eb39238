#pragma once

#include "ui/kit/workspace.h"
#include "ui/theme/icons.h"

#include <QMainWindow>

#include <functional>
#include <map>
#include <vector>

class QLabel;
class QPushButton;
class QStackedWidget;

namespace tilescope::ui {

class DropBox;
class ExperimentPage;
class FileOpener;
class JobStatus;
struct JobSummary;
class LossBar;
class Page;
class PageRail;
class RecordDialog;
class RemoteFileDialog;
class RunDock;
class StartView;
class ProcessBar;
class TimeFilterBar;
class WrittenStrip;

/// The window: pages on the left, the run dock on the right, the status bar below. It opens no larger than
/// the screen; if the window is narrow, the dock is hidden and a button in the menu bar shows it.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    /// \param firstPage  shown first; empty or unknown: the one that was shown last
    explicit MainWindow(const QString& firstPage = {}, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens recordings in the run list, with those directly in a folder, and specs in the editor; imports traces of
    /// other programs, and folders of them, together as one run.
    void open(const QStringList& files);
    void openSpec(const QString& file);
    /// Shows the page of that name (timeline, kernels, …); false if there is none.
    bool showPage(const QString& name);
    Page* page(const QString& name);
    QStringList pageNames() const;
    QString pageTitle(const QString& name) const;
    Page* currentPage() const;
    QString currentPageName() const;
    RunDock& dock() { return *dock_; }
    /// Asks which files to open.
    void chooseFiles();
    /// Asks for a folder, and opens it as open() does.
    void chooseFolder();
    /// Asks for a file on a host, fetches it and opens the copy.
    RemoteFileDialog& chooseOnHost();
    /// Asks where to copy the recording of the first selected run.
    void saveAs();
    /// Closes the file of the first selected run.
    void closeFile();
    /// Opens the export dialog.
    void exportPage();
    /// Opens the dialog that writes a report on the file of the first selected run.
    void writeReport();
    /// Shows the dialog that records a program.
    RecordDialog& recordProgram();
    void showHelp(const QString& topic);
    Workspace& workspace() { return *workspace_; }

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    struct Entry {
        QString name;
        QString title;
        std::function<Page*()> make; ///< null until it is first shown or needed
        Page* page = nullptr;
    };

    void addPage(const QString& name, const QString& title, Icon icon, std::function<Page*()> make,
                 bool atBottom = false);
    template <class Kind> void addPage(const char* name, const QString& title, Icon icon);
    Page* made(Entry& entry);
    void showPageAt(int index);
    void showPageOf(const QWidget* view);
    void updateTitle();
    void becomeActive();
    void makeCentre();
    void fitScreen();
    void foldDock();
    void showDrag(const QString& words);
    void noteHeld();
    JobStatus& statusOf(const QString& host);
    void savePreview(const OpenFile& file);
    const OpenFile* currentFile() const;
    void restoreLayout(const QString& page);
    bool mayClose();
    bool mayEndProgram();
    void closeIfWanted();

    Workspace* workspace_;
    PageRail* rail_;
    QStackedWidget* stack_;
    FileOpener* opener_;
    WrittenStrip* written_;
    LossBar* losses_;
    TimeFilterBar* timeFilter_;
    ProcessBar* process_;
    RunDock* dock_;
    QPushButton* showRuns_; ///< in the menu bar while the dock is hidden
    ExperimentPage* experiment_ = nullptr;
    RecordDialog* record_ = nullptr; ///< null until it is first shown
    StartView* start_ = nullptr;     ///< null until it is first shown
    DropBox* veil_ = nullptr;        ///< over the pages during a drag; null until there is one
    bool isNarrow_ = false;          // too narrow for pages and the run list side by side
    bool dockWasShown_ = true;       // before the window became narrow
    bool closeAtEnd_ = false; // the user wants to close as soon as the sweep or the program has stopped
    QLabel* cursor_;
    QLabel* selection_;
    std::map<const Page*, QString> selected_; // the last selection text of each page
    std::map<QString, JobStatus*> jobs_;      ///< by place
    std::vector<Entry> pages_;
    std::size_t current_ = 0;
};

} // namespace tilescope::ui
