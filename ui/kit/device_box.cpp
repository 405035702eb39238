#include "ui/kit/device_box.h"

#include <utility>

namespace tilescope::ui {

DeviceBox::DeviceBox(const QString& accessibleName, QWidget* parent) : ComboBox(accessibleName, parent)
{
    hide();
}

void DeviceBox::forget()
{
    devices_.clear();
    clear();
    hide();
}

void DeviceBox::setDevices(std::vector<query::ProcessChoice> devices)
{
    if (count() > 0 || devices.empty())
        return;
    devices_ = std::move(devices);
    addItem(tr("all GPUs"));
    for (const query::ProcessChoice& choice : devices_)
        addItem(QString::fromStdString(choice.title));
    show();
}

const query::ProcessChoice* DeviceBox::chosen() const
{
    const int index = currentIndex() - 1;
    return index < 0 ? nullptr : &devices_.at(std::size_t(index));
}

} // namespace tilescope::ui
