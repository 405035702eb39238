#include "ui/window/written_strip.h"

#include "ui/kit/view_history.h"
#include "ui/kit/workspace.h"

#include <QDesktopServices>
#include <QDir>
#include <QFileInfo>
#include <QUrl>

namespace tilescope::ui {

void openFolderOf(const QString& file)
{
    QDesktopServices::openUrl(QUrl::fromLocalFile(QFileInfo(file).absolutePath()));
}

WrittenStrip::WrittenStrip(Workspace& workspace, QWidget* parent)
    : MessageStrip(parent), workspace_(workspace)
{
    setAccessibleName(tr("Confirmation"));
    connect(&workspace, &Workspace::written, this, &WrittenStrip::confirm);
    connect(&workspace.history(), &ViewHistory::changed, this, &WrittenStrip::follow);
}

void WrittenStrip::say(const QString& sentence)
{
    change_.clear();
    tell(Kind::Information, sentence);
    addButton(tr("Dismiss"), [this] { hide(); });
    show();
}

void WrittenStrip::confirmDeleted(const QString& sentence, const QString& change)
{
    change_ = change;
    tell(Kind::Information, sentence);
    addButton(tr("Undo"), [this] { workspace_.history().undo(); });
    addButton(tr("Dismiss"), [this] { hide(); });
}

// The button undoes the last change, which is the deletion.
void WrittenStrip::follow()
{
    if (!change_.isEmpty() && workspace_.history().undoName() != change_)
        hide();
}

void WrittenStrip::confirm(const QString& file, const QString& detail)
{
    change_.clear();
    const QString path = QDir::toNativeSeparators(QFileInfo(file).absoluteFilePath());
    tell(Kind::Information,
         detail.isEmpty() ? tr("Wrote %1.").arg(path) : tr("Wrote %1: %2.").arg(path, detail));
    addButton(tr("Open folder"), [file] { openFolderOf(file); });
    addButton(tr("Dismiss"), [this] { hide(); });
}

} // namespace tilescope::ui
