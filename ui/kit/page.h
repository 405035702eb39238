#pragma once

#include "ui/kit/workspace.h"

#include <QWidget>

#include <vector>

namespace tilescope::ui {

/// A page of the main window. It follows the selected runs only while it is visible, so that hidden pages
/// load nothing.
class Page : public QWidget {
    Q_OBJECT
public:
    explicit Page(Workspace& workspace, QWidget* parent = nullptr);

    /// Handles the key `/`. Returns false if there is nothing to find.
    virtual bool startFind() { return false; }
    /// Moves the focus to the content of the page as soon as it exists.
    void takeFocus();
    /// The command that prints what the page shows; empty if there is none.
    virtual QString command() const { return {}; }
    /// Shows the target of a link from another page, as soon as the page has its data.
    virtual void goTo(const PageTarget&) {}
    /// The effect of the time filter on the page, in one sentence.
    virtual QString timeFilterWords() const;
    /// What the choice of a rank means for the page, in one sentence; empty: the page does not depend on it.
    virtual QString processSentence() const;

signals:
    /// The user wants to export the page.
    void exportWanted();
    /// The item under the cursor, for the left of the status bar.
    void cursorText(const QString& text);
    /// The selection, shown after the item under the cursor.
    void selectionText(const QString& text);

protected:
    /// The selected runs are these now.
    virtual void showRuns(const std::vector<SelectedRun>& runs) = 0;
    /// A selected run that is being written has grown: shows the new data and keeps the user's choices.
    /// False if the page would have to read everything again; it then does so when it is next shown and when
    /// the run has ended.
    virtual bool showGrown(const std::vector<SelectedRun>&) { return false; }

    /// Whether it limits what it shows of a run to SelectedRun::span, where that has a meaning.
    virtual bool followsTime() const { return false; }

    /// Whether it limits what it shows of a run to SelectedRun::process.
    virtual bool followsProcess() const { return false; }

    Workspace& workspace() const { return workspace_; }
    /// Sets what has the keys when the page is shown. It is no focus proxy: Tab would go from the page to it, past the
    /// tools before it.
    void setFocusTarget(QWidget* target);
    /// The message while no run is selected: the problem of a file, or what to do.
    /// \param fills  what would fill the page, as a sentence
    QString emptyText(const QString& fills) const;
    void showEvent(QShowEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void catchUp();
    void grow();

    Workspace& workspace_;
    QWidget* focusTarget_ = nullptr;
    bool stale_ = true;
    bool behind_ = false; // its content is correct but no longer complete
};

} // namespace tilescope::ui
