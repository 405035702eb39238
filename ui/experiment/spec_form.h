#pragma once

#include "core/config/schema.h"
#include "core/config/spec_document.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tilescope::ui {

/// A spec as a form shows it: for each key of the schema its values in the document, as text (`64`, `8 GiB`,
/// `a, b`). Edits change the document, which converts from and to text.
///
/// A plain value. Values need not be valid: config::problemsOf() checks them.
class SpecForm {
public:
    /// The source of a key's values.
    enum class Given {
        Default, ///< it is not written
        Once,    ///< one value
        Swept,   ///< `sweep` has several values
        InPoints ///< set by explicit points of `sweep`: shown, not edited
    };

    SpecForm() = default;
    explicit SpecForm(config::SpecDocument document) : document_(std::move(document)) {}
    /// \throws Error  the text does not have the structure of a spec. An empty text is an empty form.
    static SpecForm fromYaml(const std::string& yaml, const std::string& origin);

    const config::SpecDocument& document() const { return document_; }
    /// The workload; none while it is missing or invalid.
    std::optional<Workload> workload() const;
    /// Whether the key has a field now: those of the workload, and the common ones while there is none.
    bool shows(const config::KeyInfo& key) const;

    Given given(const config::KeyInfo& key) const;
    /// The key's values in order; none: the default applies.
    QStringList values(const config::KeyInfo& key) const;
    /// Writes the values of a key: none removes it, one fixes it, several sweep it. A key that stays fixed
    /// or swept keeps its place and comments; a new one is inserted in the order of the schema.
    /// \param sweep  sweeps it over a single value, too
    void set(const config::KeyInfo& key, const QStringList& values, bool sweep = false);

    /// Removes the keys that the workload does not have, except those of explicit points.
    /// \return  their names
    QStringList dropForeignKeys();

    /// Line of the key in the text that the document was read from, from 1; 0 if there is none.
    int lineOf(const config::KeyInfo& key) const;
    /// The key at this line or the last one above it; null if there is none.
    const config::KeyInfo* keyAt(int line) const;

    /// The document as text. If possible, only the differences to `before` change, and the rest of that text
    /// stays.
    std::string yaml(const std::string& before) const;

private:
    void setOnce(const config::KeyInfo& key, config::SpecValue value);
    void setSwept(const config::KeyInfo& key, std::vector<config::SpecValue> values);

    config::SpecDocument document_;
};

/// Converts the text of a field to a value of that key, and back.
config::SpecValue valueFromText(const config::KeyInfo& key, const QString& text);
QString textOfValue(const config::SpecValue& value);

/// Several values typed into one field, separated by commas, and by spaces if values of the key contain none.
QStringList splitValues(const config::KeyInfo& key, const QString& typed);

/// "1 to 65,536, default 8 (attention), 4 (lm)": the allowed values and the default.
QString rangeText(const config::KeyInfo& key);

/// The default of a key for a workload, or for all while none is chosen.
QString defaultText(const config::KeyInfo& key, std::optional<Workload> workload);

/// Groups of keys in the order of the form.
std::span<const config::KeyGroup> formGroups();

} // namespace tilescope::ui
