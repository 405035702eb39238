#pragma once

#include "core/machine/machine.h"

#include <QScrollArea>

#include <vector>

class QGridLayout;

namespace tilescope::ui {

/// The steps of the examination of a host: a sign, the topic, what was found and its remedy.
class HostSteps : public QScrollArea {
    Q_OBJECT
public:
    explicit HostSteps(QWidget* parent = nullptr);

    /// All steps are still to be taken.
    void restart();
    void add(const machine::Finding& finding);
    /// No step follows.
    void finish();
    const std::vector<machine::Finding>& findings() const { return findings_; }

private:
    void refill();

    std::vector<machine::Finding> findings_;
    bool isRunning_ = false;
    bool isBegun_ = false;
};

} // namespace tilescope::ui
