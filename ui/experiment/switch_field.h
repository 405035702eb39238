#pragma once

#include "core/config/schema.h"

#include <QStringList>
#include <QWidget>

class QCheckBox;
class QPushButton;

namespace tilescope::ui {

/// A field for a key that is true or false: one check box, and a button that sweeps the key over both.
class SwitchField : public QWidget {
    Q_OBJECT
public:
    explicit SwitchField(const config::KeyInfo& key, QWidget* parent = nullptr);

    /// Shows these values without emitting a signal; none: the default.
    void setValues(const QStringList& values);
    const QStringList& values() const { return values_; }
    void setReadOnly(bool readOnly);
    QCheckBox* box() const { return box_; }
    QPushButton* both() const { return both_; }

signals:
    void edited(const QStringList& values);

private:
    void change(const QStringList& values);

    QStringList values_;
    bool default_;
    QCheckBox* box_;
    QPushButton* both_;
};

} // namespace tilescope::ui
