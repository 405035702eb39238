#include "ui/theme/application.h"

#include "ui/theme/unbroken_text.h"

#include <QClipboard>
#include <QLocale>
#include <QMimeData>

#include <clocale>

namespace tilescope::ui {

namespace {

// A command that is copied from a sentence must work in a shell.
void removeJoiners(QClipboard& clipboard, QClipboard::Mode mode)
{
    const bool isOurs = mode == QClipboard::Clipboard ? clipboard.ownsClipboard() : clipboard.ownsSelection();
    const QMimeData* const data = isOurs ? clipboard.mimeData(mode) : nullptr;
    if (data == nullptr || !data->hasText())
        return;
    const QString text = data->text();
    if (const QString clean = withoutJoiners(text); clean.size() != text.size())
        clipboard.setText(clean, mode);
}

} // namespace

Application::Application(int& argc, char** argv) : QApplication(argc, argv)
{
    std::setlocale(LC_NUMERIC, "C");
    // The system's messages become parts of our sentences, which are English.
    std::setlocale(LC_MESSAGES, "C");
    QLocale::setDefault(QLocale::c());
    connect(clipboard(), &QClipboard::changed, this,
            [](QClipboard::Mode mode) { removeJoiners(*clipboard(), mode); });
}

} // namespace tilescope::ui
