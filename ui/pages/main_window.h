#pragma once

#include "ui/pages/workspace.h"
#include "ui/theme/icons.h"

#include <QMainWindow>

class QLabel;
class QStackedWidget;

namespace tilescope::ui {

class Page;
class PageRail;
class RunDock;

/// The window: pages on the left, the run dock on the right, the status bar below.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    void open(const QStringList& files);
    /// Shows the page of that name (timeline, kernels, …); false where there is none.
    bool showPage(const QString& name);
    Page* page(const QString& name) const;
    QStringList pageNames() const;
    Workspace& workspace() { return *workspace_; }

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void closeEvent(QCloseEvent* event) override;

private:
    struct Entry {
        QString name;
        Page* page = nullptr;
    };

    void addPage(const QString& name, const QString& title, Icon icon, Page* page);
    void makeMenus();
    void chooseFiles();
    void showPageAt(int index);
    void updateTitle();
    void restoreLayout();

    Workspace* workspace_;
    PageRail* rail_;
    QStackedWidget* stack_;
    RunDock* dock_;
    QLabel* cursor_;
    QLabel* selection_;
    std::vector<Entry> pages_;
};

} // namespace tilescope::ui
