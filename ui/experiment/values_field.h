#pragma once

#include "core/config/schema.h"

#include <QFrame>
#include <QStringList>

class QLineEdit;
class QPushButton;

namespace tilescope::ui {

class FlowLayout;

/// A field for the values of a key: one value as text, several as chips. A comma (and a space, if values
/// contain none) begins the next value, Enter ends it, Backspace returns the last one for editing.
class ValuesField : public QFrame {
    Q_OBJECT
public:
    explicit ValuesField(const config::KeyInfo& key, QWidget* parent = nullptr);

    /// Shows these values without emitting a signal; equivalent text that is being typed stays.
    void setValues(const QStringList& values, bool swept);
    const QStringList& values() const { return values_; }
    /// The value that holds while none is written, shown in the empty field.
    void setDefault(const QString& text);
    void setReadOnly(bool readOnly);
    void setInvalid(bool invalid);
    /// Whether it shows chips.
    bool isList() const { return list_; }
    QLineEdit* edit() const { return edit_; }

signals:
    void edited(const QStringList& values);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void typed(const QString& text);
    void commit();
    void takeBack();
    void toList();
    void rebuild();
    void put(const QStringList& values);

    const config::KeyInfo& key_;
    QStringList values_;
    bool list_ = false;
    bool quiet_ = false;
    FlowLayout* flow_;
    QLineEdit* edit_;
    QPushButton* more_;
    QList<QPushButton*> chips_;
};

} // namespace tilescope::ui
