#pragma once

#include <QFrame>

namespace tilescope::ui {

class Page;
class SentenceLabel;
class Workspace;

/// The line above the pages that says to which time span of the selected runs they are limited, and what that does on
/// the page that is shown, with a button that removes the limit. Hidden without one. GUI thread.
class TimeFilterBar : public QFrame {
    Q_OBJECT
public:
    explicit TimeFilterBar(Workspace& workspace, QWidget* parent = nullptr);

    /// That page is shown now.
    void setPage(const Page& page);

private:
    void follow();

    Workspace& workspace_;
    SentenceLabel* words_;
    const Page* page_ = nullptr;
};

} // namespace tilescope::ui
