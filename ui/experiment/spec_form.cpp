#include "ui/experiment/spec_form.h"

#include "core/base/error.h"
#include "core/model/text.h"
#include "ui/experiment/spec_text.h"

#include <algorithm>
#include <array>

namespace tilescope::ui {

namespace {

using config::KeyInfo;
using config::SpecDocument;
using config::SpecValue;
using config::ValueType;

bool isEmptyYaml(const std::string& yaml)
{
    for (std::size_t at = 0; at < yaml.size();) {
        const std::size_t end = std::min(yaml.find('\n', at), yaml.size());
        const std::size_t first = yaml.find_first_not_of(" \t\r", at);
        if (first < end && yaml[first] != '#')
            return false;
        at = end + 1;
    }
    return true;
}

// Keys above `fixed`: they name the experiment, the others describe it.
bool standsAtTop(const KeyInfo& key)
{
    return key.name == "name" || key.name == "workload" || key.name == "device";
}

std::ptrdiff_t orderOf(std::string_view name)
{
    const auto found = std::ranges::find(config::keys(), name, &KeyInfo::name);
    return found - config::keys().begin();
}

// After the last key that the schema lists before it.
template <class Item>
void insertInOrder(std::vector<Item>& items, typename std::vector<Item>::iterator from,
                   typename std::vector<Item>::iterator to, Item item)
{
    const std::ptrdiff_t order = orderOf(item.key);
    auto at = from;
    for (auto it = from; it != to; ++it)
        if (orderOf(it->key) < order)
            at = it + 1;
    items.insert(at, std::move(item));
}

SpecValue scalarFromText(const std::string& text)
{
    try {
        const SpecDocument probe = config::parseDocument("value: " + text + "\n", {});
        if (probe.fixed.size() == 1 && probe.comments.footer.empty() && probe.fixed[0].remark.empty()) {
            SpecValue value = probe.fixed[0].value;
            value.position = {};
            if (value.kind == SpecValue::Kind::Scalar && value.text == text)
                return value;
        }
    } catch (const Error&) {
        // Text that YAML would read as another type is quoted.
    }
    return {.text = text, .quoted = true};
}

} // namespace

SpecForm SpecForm::fromYaml(const std::string& yaml, const std::string& origin)
{
    if (!isEmptyYaml(yaml))
        return SpecForm(config::parseDocument(yaml, origin));
    SpecForm form;
    form.document_.origin = origin;
    form.document_.comments.header = yaml;
    while (form.document_.comments.header.ends_with('\n'))
        form.document_.comments.header.pop_back();
    return form;
}

std::optional<Workload> SpecForm::workload() const
{
    const SpecDocument::Entry* entry = document_.findFixed("workload");
    return entry != nullptr ? fromWord<Workload>(entry->value.text) : std::nullopt;
}

bool SpecForm::shows(const KeyInfo& key) const
{
    const std::optional<Workload> chosen = workload();
    if (chosen && key.appliesTo(*chosen))
        return true;
    if (!chosen && key.attention && key.lm)
        return true;
    return given(key) != Given::Default; // it is wrong here and must be visible to be removed
}

SpecForm::Given SpecForm::given(const KeyInfo& key) const
{
    if (document_.findFixed(key.name) != nullptr)
        return Given::Once;
    if (document_.findAxis(key.name) != nullptr)
        return Given::Swept;
    for (const SpecDocument::Point& point : document_.points)
        for (const SpecDocument::Entry& entry : point)
            if (entry.key == key.name)
                return Given::InPoints;
    return Given::Default;
}

QStringList SpecForm::values(const KeyInfo& key) const
{
    QStringList texts;
    if (const SpecDocument::Entry* entry = document_.findFixed(key.name))
        texts << textOfValue(entry->value);
    else if (const SpecDocument::Axis* axis = document_.findAxis(key.name))
        for (const SpecValue& value : axis->values)
            texts << textOfValue(value);
    else
        for (const SpecDocument::Point& point : document_.points)
            for (const SpecDocument::Entry& entryOfPoint : point)
                if (entryOfPoint.key == key.name)
                    if (const QString text = textOfValue(entryOfPoint.value); !texts.contains(text))
                        texts << text;
    return texts;
}

void SpecForm::set(const KeyInfo& key, const QStringList& texts, bool sweep)
{
    std::vector<SpecValue> values;
    for (const QString& text : texts)
        values.push_back(valueFromText(key, text));
    if (values.empty())
        document_.remove(key.name);
    else if (values.size() == 1 && !sweep)
        setOnce(key, std::move(values.front()));
    else
        setSwept(key, std::move(values));
}

QStringList SpecForm::dropForeignKeys()
{
    QStringList dropped;
    const std::optional<Workload> chosen = workload();
    for (const KeyInfo& key : config::keys()) {
        const Given how = given(key);
        if (!chosen || key.appliesTo(*chosen) || (how != Given::Once && how != Given::Swept))
            continue;
        document_.remove(key.name);
        dropped << QString::fromUtf8(key.name);
    }
    return dropped;
}

void SpecForm::setOnce(const KeyInfo& key, SpecValue value)
{
    const auto old = std::ranges::find(document_.fixed, key.name, &SpecDocument::Entry::key);
    if (old != document_.fixed.end()) {
        old->value = std::move(value);
        return;
    }
    SpecDocument::Entry entry{.key = std::string(key.name), .value = std::move(value)};
    if (const SpecDocument::Axis* axis = document_.findAxis(key.name)) {
        entry.comment = axis->comment;
        entry.remark = axis->remark;
    }
    document_.remove(key.name);
    std::vector<SpecDocument::Entry>& fixed = document_.fixed;
    const auto under = std::ranges::find_if(fixed, &SpecDocument::Entry::underFixed); // they come last
    entry.underFixed = under != fixed.end() && !standsAtTop(key);
    const auto from = entry.underFixed ? under : fixed.begin();
    insertInOrder(fixed, from, entry.underFixed ? fixed.end() : under, std::move(entry));
}

void SpecForm::setSwept(const KeyInfo& key, std::vector<SpecValue> values)
{
    const auto old = std::ranges::find(document_.axes, key.name, &SpecDocument::Axis::key);
    if (old != document_.axes.end()) {
        old->values = std::move(values);
        return;
    }
    SpecDocument::Axis axis{.key = std::string(key.name), .values = std::move(values)};
    if (const SpecDocument::Entry* entry = document_.findFixed(key.name)) {
        axis.comment = entry->comment;
        axis.remark = entry->remark;
    }
    document_.remove(key.name);
    insertInOrder(document_.axes, document_.axes.begin(), document_.axes.end(), std::move(axis));
}

int SpecForm::lineOf(const KeyInfo& key) const
{
    if (const SpecDocument::Entry* entry = document_.findFixed(key.name))
        return entry->position.line;
    const SpecDocument::Axis* axis = document_.findAxis(key.name);
    return axis != nullptr ? axis->position.line : 0;
}

const KeyInfo* SpecForm::keyAt(int line) const
{
    const std::string* name = nullptr;
    int above = 0;
    const auto look = [&](const auto& item) {
        if (item.position.line <= line && item.position.line > above) {
            above = item.position.line;
            name = &item.key;
        }
    };
    for (const SpecDocument::Entry& entry : document_.fixed)
        look(entry);
    for (const SpecDocument::Axis& axis : document_.axes)
        look(axis);
    return name != nullptr ? config::findKey(*name) : nullptr;
}

std::string SpecForm::yaml(const std::string& before) const
{
    if (document_.fixed.empty() && document_.axes.empty() && document_.points.empty())
        return document_.comments.header.empty() ? std::string() : document_.comments.header + "\n";
    if (std::optional<std::string> changed = withChanges(before, document_))
        return *std::move(changed);
    return config::toYaml(document_);
}

SpecValue valueFromText(const KeyInfo& key, const QString& text)
{
    const QString trimmed = text.trimmed();
    if (key.type != ValueType::List)
        return scalarFromText(trimmed.toStdString());
    SpecValue list{.kind = SpecValue::Kind::List};
    for (const QString& word : QString(trimmed)
                                   .replace(QLatin1Char(','), QLatin1Char(' '))
                                   .split(QLatin1Char(' '), Qt::SkipEmptyParts))
        list.items.push_back(scalarFromText(word.toStdString()));
    return list;
}

QString textOfValue(const SpecValue& value)
{
    if (value.kind == SpecValue::Kind::Scalar)
        return QString::fromUtf8(value.text);
    if (value.kind != SpecValue::Kind::List)
        return {};
    QStringList words;
    for (const SpecValue& item : value.items)
        words << textOfValue(item);
    return words.join(QLatin1String(", "));
}

QStringList splitValues(const KeyInfo& key, const QString& typed)
{
    QString text = typed;
    if (key.type == ValueType::Text)
        return text.trimmed().isEmpty() ? QStringList() : QStringList(text.trimmed());
    if (key.type == ValueType::List) {
        QStringList values;
        for (const QString& value : text.split(QLatin1Char(';')))
            if (!value.trimmed().isEmpty())
                values << value.trimmed();
        return values;
    }
    // 8 GiB is one value, 8 16 are two.
    if (key.type != ValueType::Size && key.type != ValueType::Compile)
        text.replace(QLatin1Char(' '), QLatin1Char(','));
    QStringList values;
    for (const QString& value : text.split(QLatin1Char(',')))
        if (!value.trimmed().isEmpty())
            values << value.trimmed();
    return values;
}

QString rangeText(const KeyInfo& key)
{
    return QStringLiteral("%1; default %2")
        .arg(QString::fromUtf8(key.allowed()), QString::fromUtf8(key.defaultText));
}

QString defaultText(const KeyInfo& key, std::optional<Workload> workload)
{
    return workload ? QString::fromStdString(key.defaultFor(*workload)) : QString::fromUtf8(key.defaultText);
}

std::span<const config::KeyGroup> formGroups()
{
    using enum config::KeyGroup;
    static constexpr std::array kOrder{Experiment, Attention, Model, Ranks, Measurement, Tracing, Process};
    return kOrder;
}

} // namespace tilescope::ui
