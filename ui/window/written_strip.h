#pragma once

#include "ui/kit/message_strip.h"

namespace tilescope::ui {

class Workspace;

/// Opens the folder of a file in the desktop's file manager.
void openFolderOf(const QString& file);

/// The line above the pages that confirms what the user wrote to a file last, with a button that opens its folder.
/// Hidden when it is dismissed and when another page is shown. GUI thread.
class WrittenStrip : public MessageStrip {
    Q_OBJECT
public:
    explicit WrittenStrip(Workspace& workspace, QWidget* parent = nullptr);

private:
    void confirm(const QString& file, const QString& detail);
};

} // namespace tilescope::ui
