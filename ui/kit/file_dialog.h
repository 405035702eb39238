#pragma once

#include <QAbstractFileIconProvider>
#include <QFileDialog>
#include <QString>
#include <QStringList>

class QWidget;

namespace tilescope::ui {

// Every dialog that lists files is one of these. Dialogs of desktops, and Qt's with its own icons, open and close each
// listed file in this process to name its type. Closing a file drops all locks that the process holds on it, so that
// the next writer of an open recording takes itself for the last user of the file.

/// Names the types of files without opening them: from their ending alone.
class FileTypesByName : public QAbstractFileIconProvider {
public:
    QIcon icon(IconType type) const override;
    QIcon icon(const QFileInfo& info) const override;
    QString type(const QFileInfo& info) const override;
};

/// \param folder  where the dialog begins; empty: where the last dialog ended
/// \return        empty if the user cancels
QString fileToOpen(QWidget* parent, const QString& title, const QString& folder = {},
                   const QString& filters = {});
QStringList filesToOpen(QWidget* parent, const QString& title, const QString& filters);
QString folderToOpen(QWidget* parent, const QString& title, const QString& folder = {});

/// \param proposed  path, or name in the folder where the last dialog ended
/// \param options   such as QFileDialog::DontConfirmOverwrite
QString fileToSave(QWidget* parent, const QString& title, const QString& proposed, const QString& filters,
                   QFileDialog::Options options = {});

} // namespace tilescope::ui
