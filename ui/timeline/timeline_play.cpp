#include "ui/timeline/timeline_play.h"

#include "ui/kit/key_actions.h"
#include "ui/timeline/play_bar.h"
#include "ui/timeline/play_dialog.h"
#include "ui/timeline/timeline_view.h"

#include <QAction>

namespace tilescope::ui {

TimelinePlay::TimelinePlay(TimelineView& view, QWidget* page)
    : QObject(page), view_(view), page_(page), player_(view, this), bar_(new PlayBar(player_))
{
    makeActions();
    connect(bar_, &PlayBar::exportWanted, this, &TimelinePlay::startExport);
    connect(&player_, &TimelinePlayer::problem, this, &TimelinePlay::said);
    // Ending takes the focus from the bar, which goes.
    connect(&player_, &TimelinePlayer::changed, this, [this] {
        if (!player_.isOn() && bar_->isAncestorOf(page_->focusWidget()))
            view_.setFocus();
    });
}

void TimelinePlay::makeActions()
{
    const auto add = [this](const QString& text, const QList<QKeySequence>& keys, auto does) {
        return addKey(view_, text, keys, does, Qt::WidgetShortcut, tr("Timeline: Play"));
    };
    toggle_ =
        add(tr("Play the aligned step slowed down, or pause"), {Qt::Key_Space}, [this] { player_.toggle(); });
    add(tr("Play: go to the next start of a box"), {Qt::Key_Period}, [this] { player_.step(1); });
    add(tr("Play: go to the previous start of a box"), {Qt::Key_Comma}, [this] { player_.step(-1); });
    add(tr("Play: slower"), {Qt::Key_Less}, [this] { player_.changeSpeed(1); });
    add(tr("Play: faster"), {Qt::Key_Greater}, [this] { player_.changeSpeed(-1); });
    add(tr("Play: export as animated SVG or GIF…"), {}, [this] { startExport(); });
}

void TimelinePlay::startExport()
{
    if (!player_.isOn())
        player_.goTo(0);
    if (!player_.isOn())
        return; // it has said why
    player_.pause();
    const PlayPart& part = player_.clock().part();
    auto* dialog =
        new PlayDialog(view_.wholeScene(), view_.wholeSize().width(), part, player_.clock().slowdown(),
                       name_.isEmpty() ? QStringLiteral("play") : name_, page_);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &PlayDialog::written, this, &TimelinePlay::written);
    dialog->open();
}

} // namespace tilescope::ui
