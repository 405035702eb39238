#pragma once

#include "ui/pages/workspace.h"

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A screen of the main window. It is told of selected runs only while it is shown, so that pages nobody
/// looks at load nothing.
class Page : public QWidget {
    Q_OBJECT
public:
    explicit Page(Workspace& workspace, QWidget* parent = nullptr);

    /// What the page does when `/` is pressed.
    virtual void startFind() {}

signals:
    /// Left of the status bar: what is under the cursor.
    void cursorText(const QString& text);
    /// Beside it: what is selected.
    void selectionText(const QString& text);

protected:
    /// The selected runs are these now.
    virtual void showRuns(const std::vector<SelectedRun>& runs) = 0;

    Workspace& workspace() const { return workspace_; }
    /// What stands on the page while no run is selected: what is wrong with a file, or what to do.
    /// \param fills  what would fill the page, as a sentence
    QString emptyText(const QString& fills) const;
    void showEvent(QShowEvent* event) override;

private:
    void catchUp();

    Workspace& workspace_;
    bool stale_ = true;
};

} // namespace tilescope::ui
