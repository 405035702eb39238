#pragma once

#include <QString>

#include <functional>
#include <vector>

namespace tilescope::ui {

class MainWindow;

/// Something that the command palette can do.
struct PaletteEntry {
    enum class Kind { Action, Run, Kernel, Help } kind = Kind::Action;
    QString text = {};   ///< what the user searches
    QString detail = {}; ///< beside it: keys of an action, file of a run
    std::function<void()> choose = {};
};

/// The actions that are enabled on the current page or in the menus, the runs of the open files and the help
/// pages. The entries are valid as long as the window stays as it is.
std::vector<PaletteEntry> paletteEntries(MainWindow& window);

/// The word for a kind: Run.
QString wordOf(PaletteEntry::Kind kind);

} // namespace tilescope::ui
