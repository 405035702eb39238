#pragma once

#include "core/analysis/time/path_glob.h"

#include <QString>

#include <string>

namespace tilescope::ui {

/// step/forward/layers.3 as lists show it: forward/layers.3.
inline QString belowStep(const std::string& path)
{
    return QString::fromUtf8(analysis::belowStep(path));
}
inline QString belowStep(const QString& path)
{
    return belowStep(path.toStdString());
}

} // namespace tilescope::ui
