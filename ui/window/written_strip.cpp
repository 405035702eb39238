#include "ui/window/written_strip.h"

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

WrittenStrip::WrittenStrip(Workspace& workspace, QWidget* parent) : MessageStrip(parent)
{
    setAccessibleName(tr("Written file"));
    connect(&workspace, &Workspace::written, this, &WrittenStrip::confirm);
}

void WrittenStrip::confirm(const QString& file, const QString& detail)
{
    const QString path = QDir::toNativeSeparators(QFileInfo(file).absoluteFilePath());
    tell(Kind::Information,
         detail.isEmpty() ? tr("Wrote %1.").arg(path) : tr("Wrote %1: %2.").arg(path, detail));
    addButton(tr("Open folder"), [file] { openFolderOf(file); });
    addButton(tr("Dismiss"), [this] { hide(); });
}

} // namespace tilescope::ui
