#pragma once

#include "core/config/spec_document.h"
#include "ui/experiment/spec_form.h"

#include <QScrollArea>

#include <vector>

class QGridLayout;
class QLabel;
class QPushButton;

namespace tilescope::ui {

class KeyField;

/// The form of a spec, made from the schema: a field for every key of the workload, in groups. Rarely used
/// groups are folded unless one of their keys is set.
class SpecFormView : public QScrollArea {
    Q_OBJECT
public:
    explicit SpecFormView(QWidget* parent = nullptr);

    /// Shows the form, and the problems beside each field, without emitting a signal.
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
        config::KeyGroup group{};
        QPushButton* heading = nullptr;
        QWidget* body = nullptr;
        QGridLayout* grid = nullptr;
        std::vector<KeyField*> fields;
        std::vector<KeyField*> laid; ///< those that are in the grid, in order
        std::vector<bool> wide;
        bool open = true;
        bool chosen = false; ///< opened or folded by hand
    };

    void addGroup(config::KeyGroup which);
    void layOut(Group& group, const SpecForm& form);
    void dress();
    static void setOpen(Group& group, bool open);

    std::vector<Group> groups_;
    std::vector<KeyField*> fields_;
    KeyField* lit_ = nullptr;
};

} // namespace tilescope::ui
