#pragma once

#include "ui/kit/workspace.h"

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A screen of the main window. It is told of selected runs, and of what they have come to, only while it is
/// shown, so that pages nobody looks at load nothing.
class Page : public QWidget {
    Q_OBJECT
public:
    explicit Page(Workspace& workspace, QWidget* parent = nullptr);

    /// What the page does when `/` is pressed.
    virtual void startFind() {}
    /// Gives the keyboard to what the page is about, as soon as that is there.
    void takeFocus();
    /// Shows what a link of another page points at, as soon as the page has its data.
    virtual void goTo(const PageTarget&) {}

signals:
    /// The user wants to export what the page shows.
    void exportWanted();
    /// Left of the status bar: what is under the cursor.
    void cursorText(const QString& text);
    /// Beside it: what is selected.
    void selectionText(const QString& text);

protected:
    /// The selected runs are these now.
    virtual void showRuns(const std::vector<SelectedRun>& runs) = 0;
    /// There is more of a selected run that is being written: shows it and keeps what the user has chosen.
    /// False where the page would have to read everything again: it does so when it is next shown, and when
    /// the run has ended.
    virtual bool showGrown(const std::vector<SelectedRun>&) { return false; }

    Workspace& workspace() const { return workspace_; }
    /// What stands on the page while no run is selected: what is wrong with a file, or what to do.
    /// \param fills  what would fill the page, as a sentence
    QString emptyText(const QString& fills) const;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void catchUp();
    void grow();

    Workspace& workspace_;
    bool stale_ = true;
    bool behind_ = false; // what it shows is right, but there is more by now
};

} // namespace tilescope::ui
