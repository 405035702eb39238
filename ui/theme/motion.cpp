#include "ui/theme/motion.h"

#include <QSettings>
#include <QStandardPaths>

namespace tilescope::ui {

bool prefersReducedMotion()
{
    const auto value = [](const char* file, const char* key) {
        const QString path =
            QStandardPaths::locate(QStandardPaths::GenericConfigLocation, QString::fromLatin1(file));
        return path.isEmpty() ? QString()
                              : QSettings(path, QSettings::IniFormat).value(key).toString().toLower();
    };
    bool isNumber = false;
    const double factor = value("kdeglobals", "KDE/AnimationDurationFactor").toDouble(&isNumber);
    if (isNumber && factor == 0)
        return true;
    for (const char* file : {"gtk-4.0/settings.ini", "gtk-3.0/settings.ini"})
        if (const QString enabled = value(file, "Settings/gtk-enable-animations");
            enabled == QLatin1String("0") || enabled == QLatin1String("false"))
            return true;
    return false;
}

} // namespace tilescope::ui
