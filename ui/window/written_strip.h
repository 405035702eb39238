#pragma once

#include "ui/kit/message_strip.h"

namespace tilescope::ui {

class Workspace;

/// Opens the folder of a file in the desktop's file manager.
void openFolderOf(const QString& file);

/// The line above the pages that confirms what the user did last: a file that was written, with a button that opens
/// its folder, or runs that were deleted, with a button that restores them. Hidden when it is dismissed and when
/// another page is shown. GUI thread.
class WrittenStrip : public MessageStrip {
    Q_OBJECT
public:
    explicit WrittenStrip(Workspace& workspace, QWidget* parent = nullptr);

    /// Shows a sentence until it is dismissed.
    void say(const QString& sentence);
    /// Confirms a deletion until it is undone or something else is done that can be undone.
    /// \param sentence  what was deleted
    /// \param change    ViewHistory::undoName() of the deletion
    void confirmDeleted(const QString& sentence, const QString& change);

private:
    void confirm(const QString& file, const QString& detail);
    void follow();

    Workspace& workspace_;
    QString change_; ///< the deletion that is confirmed; empty for a written file
};

} // namespace tilescope::ui
