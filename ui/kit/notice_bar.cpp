#include "ui/kit/notice_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/workspace.h"

namespace tilescope::ui {

NoticeBar::NoticeBar(Workspace& workspace, QWidget* parent) : MessageStrip(parent), workspace_(workspace)
{
    tell(Kind::Error, {});
    setAccessibleName(tr("Notice"));
    words().setObjectName(QStringLiteral("notice"));
    addButton(tr("Close file"), [this] { workspace_.close(file_); });
    addButton(tr("Dismiss"), [this] {
        file_ = 0;
        follow();
    });
    connect(&workspace_, &Workspace::openFailed, this, &NoticeBar::showFailure);
    connect(&workspace_, &Workspace::filesChanged, this, &NoticeBar::follow);
    connect(&workspace_, &Workspace::selectionChanged, this, &NoticeBar::follow);
    hide();
}

void NoticeBar::showFailure(int file)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr)
        return;
    file_ = file;
    words().setText(tr("%1 cannot be opened. %2").arg(open->name(), open->problem));
    follow();
}

// If no run is selected, the page itself shows the problem.
void NoticeBar::follow()
{
    const OpenFile* open = workspace_.find(file_);
    setVisible(open != nullptr && !open->problem.isEmpty() && !workspace_.selection().empty());
}

} // namespace tilescope::ui
