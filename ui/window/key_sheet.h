#pragma once

#include <QDialog>
#include <QString>

#include <vector>

namespace tilescope::ui {

class MainWindow;

/// The action of one key.
struct KeyLine {
    QString keys; ///< "W, +"
    QString does;
};

/// Keys that hold in one place: everywhere, on a page, in tables.
struct KeyGroup {
    QString title;
    std::vector<KeyLine> lines;
};

/// All keys of the window, read from their actions. Creates the pages that have not been shown yet.
std::vector<KeyGroup> keyGroups(MainWindow& window);

/// The keys as tables, for the help.
QString keysMarkdown(const std::vector<KeyGroup>& groups);

/// All keys on one sheet, opened by `?` over whatever page is shown. GUI thread.
class KeySheet : public QDialog {
    Q_OBJECT
public:
    explicit KeySheet(MainWindow& window);
};

} // namespace tilescope::ui
