#include "ui/kit/file_dialog.h"

#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QIcon>
#include <QMimeDatabase>
#include <QStyle>
#include <QTemporaryDir>

namespace tilescope::ui {

namespace {

QString lastFolder;

QStringList chosenIn(QFileDialog& dialog)
{
    if (dialog.exec() != QDialog::Accepted)
        return {};
    lastFolder = dialog.directory().absolutePath();
    return dialog.selectedFiles();
}

/// A dialog that names types by ending.
struct SafeDialog {
    QTemporaryDir empty; ///< listed before the dialog has its icons
    FileTypesByName types;
    QFileDialog dialog;

    SafeDialog(QWidget* parent, const QString& title, const QString& folder, const QString& filters,
               QFileDialog::Options options)
        : dialog(parent, title, empty.isValid() ? empty.path() : QDir::rootPath(), filters)
    {
        dialog.setOptions(options | QFileDialog::DontUseNativeDialog);
        dialog.setIconProvider(&types);
        const QString begin = folder.isEmpty() ? lastFolder : folder;
        dialog.setDirectory(begin.isEmpty() ? QDir::currentPath() : begin);
    }
};

} // namespace

QIcon FileTypesByName::icon(IconType type) const
{
    const QStyle& style = *QApplication::style();
    switch (type) {
    case Computer:
        return style.standardIcon(QStyle::SP_ComputerIcon);
    case Desktop:
        return style.standardIcon(QStyle::SP_DesktopIcon);
    case Trashcan:
        return style.standardIcon(QStyle::SP_TrashIcon);
    case Network:
        return style.standardIcon(QStyle::SP_DriveNetIcon);
    case Drive:
        return style.standardIcon(QStyle::SP_DriveHDIcon);
    case Folder:
        return style.standardIcon(QStyle::SP_DirIcon);
    case File:
        break;
    }
    return style.standardIcon(QStyle::SP_FileIcon);
}

QIcon FileTypesByName::icon(const QFileInfo& info) const
{
    return icon(info.isDir() ? Folder : File);
}

QString FileTypesByName::type(const QFileInfo& info) const
{
    if (info.isDir())
        return QFileDialog::tr("Folder");
    if (info.suffix() == QLatin1String("tscope"))
        return QFileDialog::tr("Recording");
    return QMimeDatabase().mimeTypeForFile(info, QMimeDatabase::MatchExtension).comment();
}

QString fileToOpen(QWidget* parent, const QString& title, const QString& folder, const QString& filters)
{
    SafeDialog safe(parent, title, folder, filters, {});
    safe.dialog.setFileMode(QFileDialog::ExistingFile);
    return chosenIn(safe.dialog).value(0);
}

QStringList filesToOpen(QWidget* parent, const QString& title, const QString& filters)
{
    SafeDialog safe(parent, title, {}, filters, {});
    safe.dialog.setFileMode(QFileDialog::ExistingFiles);
    return chosenIn(safe.dialog);
}

QString folderToOpen(QWidget* parent, const QString& title, const QString& folder)
{
    SafeDialog safe(parent, title, folder, {}, QFileDialog::ShowDirsOnly);
    safe.dialog.setFileMode(QFileDialog::Directory);
    return chosenIn(safe.dialog).value(0);
}

QString fileToSave(QWidget* parent, const QString& title, const QString& proposed, const QString& filters,
                   QFileDialog::Options options)
{
    const QFileInfo file(proposed);
    SafeDialog safe(parent, title, file.path() == QLatin1String(".") ? QString() : file.path(), filters,
                    options);
    safe.dialog.setAcceptMode(QFileDialog::AcceptSave);
    safe.dialog.setFileMode(QFileDialog::AnyFile);
    safe.dialog.selectFile(file.fileName());
    return chosenIn(safe.dialog).value(0);
}

} // namespace tilescope::ui
