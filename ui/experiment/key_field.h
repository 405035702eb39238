#pragma once

#include "core/config/schema.h"
#include "ui/experiment/spec_form.h"

#include <QStringList>
#include <QWidget>

class QLabel;

namespace tilescope::ui {

class ChoiceField;
class SwitchField;
class ValuesField;

/// A row of the form: the words for the key and its name in the spec, a field of its type, by how much it
/// multiplies the points, and below it the problem.
class KeyField : public QWidget {
    Q_OBJECT
public:
    explicit KeyField(const config::KeyInfo& key, QWidget* parent = nullptr);

    const config::KeyInfo& key() const { return key_; }
    /// Shows the form's values of the key without emitting a signal.
    void show(const SpecForm& form, const QString& problem);
    QString problem() const;
    /// Whether it takes a line for itself now, and whether it always does.
    bool isWide() const;
    bool isWideByNature() const;
    /// Lights up the label: the cursor is in the key's line of the YAML.
    void setLit(bool lit);
    /// The widget that takes the keyboard focus.
    QWidget* field() const;
    QStringList values() const;

signals:
    void edited(const tilescope::config::KeyInfo& key, const QStringList& values);

private:
    const config::KeyInfo& key_;
    ChoiceField* choices_ = nullptr;
    SwitchField* switch_ = nullptr;
    ValuesField* values_ = nullptr;
    QLabel* label_;
    QLabel* times_;
    QLabel* problem_;
};

} // namespace tilescope::ui
