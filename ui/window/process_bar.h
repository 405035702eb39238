#pragma once

#include "core/query/runs/process_filter.h"

#include <QFrame>

#include <vector>

namespace tilescope::ui {

class ComboBox;
class Page;
class SentenceLabel;
class Workspace;

/// The line above the pages that chooses whose figures they show if the selected runs have several ranks or processes:
/// the mean of all, or one. Hidden otherwise, and on pages that do not depend on it. GUI thread.
class ProcessBar : public QFrame {
    Q_OBJECT
public:
    explicit ProcessBar(Workspace& workspace, QWidget* parent = nullptr);

    /// Call when another page is shown.
    void setPage(const Page& page);

private:
    void follow();

    Workspace& workspace_;
    const Page* page_ = nullptr;
    ComboBox* choice_;
    SentenceLabel* words_;
    std::vector<query::ProcessChoice> processes_; ///< after the mean
};

} // namespace tilescope::ui
