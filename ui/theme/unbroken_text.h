#pragma once

#include <QString>

namespace tilescope::ui {

/// `text` with word joiners behind the hyphens of options of a command line, so that no line ends within one:
/// --annotate-attention. Application removes them from what is copied.
QString unbroken(QString text);

/// `text` without the characters that unbroken() inserts.
QString withoutJoiners(QString text);

} // namespace tilescope::ui
