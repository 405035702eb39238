#pragma once

#include "core/query/runs/process_filter.h"
#include "ui/kit/controls.h"

#include <vector>

namespace tilescope::ui {

/// The choice of a GPU, or of all, on a page. Hidden unless the run has several GPUs of each process.
class DeviceBox : public ComboBox {
    Q_OBJECT
public:
    explicit DeviceBox(const QString& accessibleName, QWidget* parent = nullptr);

    /// Of another run: there is nothing to choose from.
    void forget();
    /// \param devices  those of query::deviceChoices(). Ignored after the first time until forget(), to keep the choice.
    void setDevices(std::vector<query::ProcessChoice> devices);
    /// Null: all.
    const query::ProcessChoice* chosen() const;

private:
    std::vector<query::ProcessChoice> devices_; ///< after "all"
};

} // namespace tilescope::ui
