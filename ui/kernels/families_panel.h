#pragma once

#include "core/query/advice/answers.h"
#include "ui/kernels/kernel_rows.h"
#include "ui/kit/panel.h"

#include <optional>
#include <vector>

class QLabel;

namespace tilescope::ui {

class KeyValueTable;
class SentenceLabel;
class TableView;

/// The time of each kernel family, and that of softmax against matmul within attention. GUI thread.
class FamiliesPanel : public Panel {
    Q_OBJECT
public:
    explicit FamiliesPanel(QWidget* parent = nullptr);

    /// Nothing changes if there are none.
    /// \param onHost  they are those of ops
    void showFamilies(const std::vector<query::KernelRow>& families, bool onHost);
    /// \param otherwise  why there is no answer
    void showAttention(const std::optional<query::Answer>& answer, const QString& otherwise);

signals:
    void familyChosen(query::Hue family);

private:
    TableView* families_;
    KeyValueTable* attention_;
    SentenceLabel* noAttention_;
};

} // namespace tilescope::ui
