#pragma once

#include "core/config/spec_document.h"
#include "ui/experiment/spec_form.h"

#include <QScrollArea>

#include <functional>
#include <vector>

class QGridLayout;
class QLabel;
class QPushButton;

namespace tilescope::ui {

class KeyField;

/// The form of a spec, made from the schema: a field for every key of the workload. The common keys come first;
/// the others are in groups that are folded unless one of their keys is set.
class SpecFormView : public QScrollArea {
    Q_OBJECT
public:
    explicit SpecFormView(QWidget* parent = nullptr);

    /// Shows the form and the problems of each field, without emitting a signal.
    void show(const SpecForm& form, const std::vector<config::SpecProblem>& problems);
    /// The field of a key; null if there is none.
    KeyField* field(std::string_view key) const;
    /// Lights up the name of the key that the cursor of the YAML is in; null: none.
    void light(const config::KeyInfo* key);

    /// The width that the fields need: the form does not scroll sideways.
    QSize minimumSizeHint() const override;

signals:
    void edited(const tilescope::config::KeyInfo& key, const QStringList& values);
    /// The keyboard is in the field of this key.
    void entered(const tilescope::config::KeyInfo& key);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Group {
        QWidget* line = nullptr; ///< heading and contents
        QPushButton* heading = nullptr;
        QLabel* contents = nullptr; ///< names what a folded group holds
        QWidget* body = nullptr;
        QGridLayout* grid = nullptr;
        std::vector<KeyField*> fields;
        std::vector<KeyField*> laid; ///< those that are in the grid, in order
        std::vector<bool> wide;
        bool open = false;
        bool chosen = false; ///< opened or folded by hand
    };

    void addGroup(const QString& title, const std::function<bool(const config::KeyInfo&)>& holds);
    void layOut(Group& group, const SpecForm& form);
    void dress();
    static void setOpen(Group& group, bool open);

    std::vector<Group> groups_;
    std::vector<KeyField*> fields_;
    KeyField* lit_ = nullptr;
};

} // namespace tilescope::ui
