#pragma once

#include "core/config/schema.h"

#include <QStringList>
#include <QWidget>

#include <vector>

class QAbstractButton;

namespace tilescope::ui {

/// A field for a key with a few words: check boxes, where several sweep the key and none means the default
/// (partially checked); radio buttons if the key cannot be swept.
class ChoiceField : public QWidget {
    Q_OBJECT
public:
    explicit ChoiceField(const config::KeyInfo& key, QWidget* parent = nullptr);

    /// Shows these values without emitting a signal. Unknown words have no box; the next click drops them.
    void setValues(const QStringList& values);
    const QStringList& values() const { return values_; }
    void setReadOnly(bool readOnly);
    std::size_t words() const { return boxes_.size(); }
    const std::vector<QAbstractButton*>& boxes() const { return boxes_; }

signals:
    void edited(const QStringList& values);

private:
    void clicked(std::size_t index, bool on);

    QStringList words_;
    QStringList values_;
    bool exclusive_;
    std::vector<QAbstractButton*> boxes_;
    QString default_; ///< the default word, if there is one
};

} // namespace tilescope::ui
