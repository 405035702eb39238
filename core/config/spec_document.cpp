#include "core/config/spec_document.h"

#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/config/value.h"
#include "core/config/yaml_tree.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tilescope::config {

namespace {

template <class List> auto findKeyed(List& list, std::string_view key)
{
    const auto found =
        std::ranges::find(list, key, [](const auto& item) { return std::string_view(item.key); });
    return found == list.end() ? nullptr : &*found;
}

/// Removes points that became equal when a key was removed from all of them.
void removeRepeats(std::vector<SpecDocument::Point>& points)
{
    const auto signature = [](const SpecDocument::Point& point) {
        std::string text;
        for (const SpecDocument::Entry& entry : point)
            text += entry.key + ": " + toYaml(entry.value) + "\n";
        return text;
    };
    std::unordered_set<std::string> seen;
    std::erase_if(points,
                  [&](const SpecDocument::Point& point) { return !seen.insert(signature(point)).second; });
    if (points.size() == 1 && points.front().empty())
        points.clear();
}

/// Values from a program or a flag have no line and column.
void forgetPosition(SpecValue& value)
{
    value.position = {};
    for (SpecValue& item : value.items)
        forgetPosition(item);
    for (SpecValue::Key& key : value.keys)
        key.position = {};
}

SpecValue valueFrom(const KeyInfo* info, std::string_view yaml, std::string_view flag)
{
    // A label may contain characters that YAML interprets.
    if (info && info->type == ValueType::Text)
        return {.text = std::string(yaml), .quoted = true};
    try {
        SpecValue value = readYaml(yaml, flag);
        forgetPosition(value);
        return value;
    } catch (Error& error) {
        error.where = flag;
        throw;
    }
}

} // namespace

std::vector<SpecValue::Entry> SpecValue::entries() const
{
    std::vector<Entry> list;
    list.reserve(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
        list.push_back({keys[i].text, items[i], keys[i].position});
    return list;
}

bool SpecValue::operator==(const SpecValue& other) const
{
    return kind == other.kind && quoted == other.quoted && text == other.text && items == other.items &&
           keys == other.keys;
}

const SpecDocument::Entry* SpecDocument::findFixed(std::string_view key) const
{
    return findKeyed(fixed, key);
}

const SpecDocument::Axis* SpecDocument::findAxis(std::string_view key) const
{
    return findKeyed(axes, key);
}

bool SpecDocument::remove(std::string_view key)
{
    const auto named = [key](const auto& item) { return item.key == key; };
    const std::size_t removed = std::erase_if(fixed, named) + std::erase_if(axes, named);
    std::size_t fromPoints = 0;
    for (Point& point : points)
        fromPoints += std::erase_if(point, named);
    if (fromPoints > 0)
        removeRepeats(points);
    return removed + fromPoints > 0;
}

void SpecDocument::set(std::string_view key, std::string_view yaml, std::string_view flag)
{
    const KeyInfo* info = findKey(key);
    const std::string name(info ? info->name : key);
    SpecValue value = valueFrom(info, yaml, flag);
    if (value.kind != SpecValue::Kind::List) {
        if (Entry* old = findKeyed(fixed, name)) {
            old->value = std::move(value);
            old->flag = flag;
            return;
        }
        remove(name);
        fixed.push_back({.key = name, .value = std::move(value), .flag = std::string(flag)});
        return;
    }
    if (value.items.empty())
        throw Error{.what = "no value in the list for " + name,
                    .where = std::string(flag),
                    .remedy = "write one value, or [a, b] to sweep"};
    if (Axis* old = findKeyed(axes, name)) {
        old->values = std::move(value.items);
        old->flag = flag;
        return;
    }
    remove(name);
    axes.push_back({.key = name, .values = std::move(value.items), .flag = std::string(flag)});
}

std::int64_t SpecDocument::pointCount() const
{
    auto count = static_cast<std::int64_t>(std::max<std::size_t>(points.size(), 1));
    for (const Axis& axis : axes)
        if (__builtin_mul_overflow(count, static_cast<std::int64_t>(axis.values.size()), &count))
            return std::numeric_limits<std::int64_t>::max();
    return count;
}

void requirePointCount(const SpecDocument& document)
{
    const std::int64_t count = document.pointCount();
    if (count <= kMaximumPoints)
        return;
    std::string where = document.origin;
    if (!document.axes.empty()) {
        const SpecDocument::Axis& axis = document.axes.back();
        where = axis.flag.empty() ? placeOf(document.origin, axis.position) : axis.flag;
    }
    throw Error{.what = "the sweep has " + groupedText(static_cast<double>(count)) + " points",
                .where = where,
                .remedy = "at most " + groupedText(kMaximumPoints) + "; split it into several specs"};
}

} // namespace tilescope::config
