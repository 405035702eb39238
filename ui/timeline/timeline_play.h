#pragma once

#include "ui/timeline/timeline_player.h"

#include <QObject>

class QAction;

namespace tilescope::ui {

class PlayBar;

/// Play on the Timeline page: its commands with their keys, its bar, and its export. Owned by the page; GUI thread.
class TimelinePlay : public QObject {
    Q_OBJECT
public:
    TimelinePlay(TimelineView& view, QWidget* page);

    PlayBar* bar() const { return bar_; }
    QAction* toggle() const { return toggle_; }
    TimelinePlayer& player() { return player_; }
    /// Proposes this name, without suffix, for exported files.
    void setName(const QString& name) { name_ = name; }
    /// Asks how to export what is played, or what would be.
    void startExport();

signals:
    /// Why nothing can be played, for the status bar.
    void said(const QString& sentence);
    /// Describes the exported file.
    void written(const QString& file, const QString& detail);

private:
    void makeActions();

    TimelineView& view_;
    QWidget* page_;
    TimelinePlayer player_;
    PlayBar* bar_;
    QAction* toggle_ = nullptr;
    QString name_;
};

} // namespace tilescope::ui
