#include "ui/kit/notice_bar.h"

#include "ui/kit/controls.h"
#include "ui/kit/workspace.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace tilescope::ui {

NoticeBar::NoticeBar(Workspace& workspace, QWidget* parent)
    : QFrame(parent), workspace_(workspace), sign_(new QLabel), words_(new SentenceLabel)
{
    setProperty("kind", "notice");
    setAccessibleName(tr("Notice"));
    words_->setObjectName(QStringLiteral("notice"));
    words_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* close = new QPushButton(tr("Close file"));
    auto* dismiss = new QPushButton(tr("Dismiss"));
    for (QPushButton* button : {close, dismiss}) {
        button->setProperty("kind", "link");
        button->setCursor(Qt::PointingHandCursor);
    }
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(sizes().margin, sizes().of(6), sizes().margin, sizes().of(6));
    layout->setSpacing(sizes().of(12));
    layout->addWidget(sign_);
    layout->addWidget(words_, 1);
    layout->addWidget(close);
    layout->addWidget(dismiss);
    const auto dress = [this] {
        const int side = sizes().of(14);
        sign_->setPixmap(makeIcon(Icon::Error, colours().error, side).pixmap(side, side));
    };
    dress();
    connect(&Theme::instance(), &Theme::changed, this, dress);
    connect(close, &QPushButton::clicked, this, [this] { workspace_.close(file_); });
    connect(dismiss, &QPushButton::clicked, this, [this] {
        file_ = 0;
        follow();
    });
    connect(&workspace_, &Workspace::openFailed, this, &NoticeBar::tell);
    connect(&workspace_, &Workspace::filesChanged, this, &NoticeBar::follow);
    connect(&workspace_, &Workspace::selectionChanged, this, &NoticeBar::follow);
    hide();
}

void NoticeBar::tell(int file)
{
    const OpenFile* open = workspace_.find(file);
    if (open == nullptr)
        return;
    file_ = file;
    words_->setText(tr("%1 cannot be opened. %2").arg(open->name(), open->problem));
    follow();
}

// If no run is selected, the page itself shows the problem.
void NoticeBar::follow()
{
    const OpenFile* open = workspace_.find(file_);
    setVisible(open != nullptr && !open->problem.isEmpty() && !workspace_.selection().empty());
}

} // namespace tilescope::ui
