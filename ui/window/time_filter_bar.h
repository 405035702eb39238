#pragma once

#include "ui/kit/message_strip.h"

namespace tilescope::ui {

class Page;
class Workspace;

/// The line above the pages that states the time span to which the selected runs are limited and its effect
/// on the visible page, with a button that removes the limit. Hidden without a limit. GUI thread.
class TimeFilterBar : public MessageStrip {
    Q_OBJECT
public:
    explicit TimeFilterBar(Workspace& workspace, QWidget* parent = nullptr);

    /// Call when another page is shown.
    void setPage(const Page& page);

private:
    void follow();

    Workspace& workspace_;
    const Page* page_ = nullptr;
};

} // namespace tilescope::ui
