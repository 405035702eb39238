#include "core/config/spec_document.h"

#include "core/base/error.h"
#include "core/config/schema.h"
#include "core/config/wording.h"
#include "core/config/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace tilescope::config {

namespace {

SpecValue valueOf(const YamlNode& node)
{
    SpecValue value{.position = node.position};
    switch (node.kind) {
    case YamlNode::Kind::Null:
        value.kind = SpecValue::Kind::Missing;
        break;
    case YamlNode::Kind::Scalar:
        value.text = node.text;
        value.quoted = node.quoted;
        break;
    case YamlNode::Kind::List:
        value.kind = SpecValue::Kind::List;
        for (const YamlNodePtr& item : node.items)
            value.items.push_back(valueOf(*item));
        break;
    case YamlNode::Kind::Map:
        value.kind = SpecValue::Kind::Map;
        break;
    }
    return value;
}

/// The place of a value; that of its key where nothing was written.
SpecValue valueOf(const YamlEntry& entry)
{
    SpecValue value = valueOf(*entry.value);
    if (value.kind == SpecValue::Kind::Missing)
        value.position = entry.position;
    return value;
}

/// Reads the tree of one spec into a document.
class DocumentReader {
public:
    explicit DocumentReader(SpecDocument& document) : document_(document) {}

    void read(const YamlNodePtr& root)
    {
        if (!root || root->kind == YamlNode::Kind::Null)
            refuse({}, "the spec is empty", "begin with `workload: attention` or `workload: lm`");
        if (root->kind != YamlNode::Kind::Map)
            refuse(root->position, "a spec is a map of keys, not a " + kindName(*root),
                   "begin with `workload: attention` or `workload: lm`");
        for (const YamlEntry& entry : root->entries) {
            if (entry.key == "fixed")
                readFixed(entry);
            else if (entry.key == "sweep")
                readSweep(entry);
            else
                addFixed(entry, false);
        }
    }

private:
    [[noreturn]] void refuse(Position position, std::string what, std::string mend) const
    {
        throw Error{
            .what = std::move(what), .where = placeOf(document_.origin, position), .mend = std::move(mend)};
    }

    static std::string kindName(const YamlNode& node)
    {
        return node.kind == YamlNode::Kind::List ? "list" : node.kind == YamlNode::Kind::Map ? "map" : "word";
    }

    void requireNew(const YamlEntry& entry)
    {
        const auto [seen, isNew] = seen_.emplace(entry.key, entry.position);
        if (!isNew)
            refuse(
                entry.position, "the key " + shown(entry.key) + " is given twice",
                fmt::format("it stands at line {} already; a key stands at top level, under fixed or under "
                            "sweep, once only",
                            seen->second.line));
    }

    void addFixed(const YamlEntry& entry, bool underFixed)
    {
        requireNew(entry);
        document_.fixed.push_back({.key = entry.key,
                                   .value = valueOf(entry),
                                   .position = entry.position,
                                   .underFixed = underFixed});
    }

    void readFixed(const YamlEntry& fixed)
    {
        if (fixed.value->kind == YamlNode::Kind::Null)
            return;
        if (fixed.value->kind != YamlNode::Kind::Map)
            refuse(fixed.value->position, "fixed takes a map of keys, not a " + kindName(*fixed.value),
                   "write fixed: {batch: 8, …}");
        for (const YamlEntry& entry : fixed.value->entries)
            addFixed(entry, true);
    }

    void readSweep(const YamlEntry& sweep)
    {
        switch (sweep.value->kind) {
        case YamlNode::Kind::Null:
            return;
        case YamlNode::Kind::Map:
            for (const YamlEntry& entry : sweep.value->entries)
                addAxis(entry);
            return;
        case YamlNode::Kind::List:
            readPoints(*sweep.value);
            return;
        case YamlNode::Kind::Scalar:
            refuse(sweep.value->position, "sweep takes a map of lists or a list of maps, not a word",
                   "write sweep: {seq_len: [256, 1024], …}");
        }
    }

    void addAxis(const YamlEntry& entry)
    {
        requireNew(entry);
        SpecDocument::Axis axis{.key = entry.key, .position = entry.position};
        SpecValue value = valueOf(entry);
        if (value.kind != SpecValue::Kind::List)
            axis.values.push_back(std::move(value));
        else if (value.items.empty())
            refuse(entry.value->position, "sweep gives " + entry.key + " no value",
                   "write at least one, or remove the key");
        else
            axis.values = std::move(value.items);
        document_.axes.push_back(std::move(axis));
    }

    void readPoints(const YamlNode& list)
    {
        if (list.items.empty())
            refuse(list.position, "sweep lists no points", "write at least one, or remove sweep");
        for (const YamlNodePtr& item : list.items) {
            if (item->kind != YamlNode::Kind::Map)
                refuse(item->position, "a point of sweep is a map of keys, not a " + kindName(*item),
                       "write - {seq_len: 256, backend: naive}");
            SpecDocument::Point point;
            for (const YamlEntry& entry : item->entries) {
                if (const auto seen = seen_.find(entry.key); seen != seen_.end())
                    refuse(
                        entry.position, "the key " + shown(entry.key) + " is given twice",
                        fmt::format("it stands at line {} already; a key stands at top level, under fixed or "
                                    "under sweep, once only",
                                    seen->second.line));
                point.push_back({.key = entry.key, .value = valueOf(entry), .position = entry.position});
            }
            document_.points.push_back(std::move(point));
        }
    }

    SpecDocument& document_;
    std::unordered_map<std::string, Position> seen_;
};

bool isPlain(std::string_view text)
{
    const auto plain = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               static_cast<unsigned char>(c) >= 0x80 ||
               std::string_view("_-+./: ").find(c) != std::string_view::npos;
    };
    constexpr std::string_view nulls[] = {"~", "null", "Null", "NULL"};
    return !text.empty() && std::ranges::all_of(text, plain) && text.front() != ' ' && text.back() != ' ' &&
           text.back() != ':' && text.find(": ") == std::string_view::npos &&
           std::string_view("-:").find(text.front()) == std::string_view::npos &&
           std::ranges::find(nulls, text) == std::end(nulls);
}

bool isNegativeNumber(std::string_view text)
{
    return text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9' && isPlain(text.substr(1));
}

std::string inQuotes(std::string_view text)
{
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            result += std::string("\\") + c;
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
            result += c;
    }
    return result + '"';
}

std::string flow(const SpecValue& value)
{
    switch (value.kind) {
    case SpecValue::Kind::Missing:
        return "null";
    case SpecValue::Kind::Map:
        return "{}";
    case SpecValue::Kind::Scalar:
        return !value.quoted && (isPlain(value.text) || isNegativeNumber(value.text)) ? value.text
                                                                                      : inQuotes(value.text);
    case SpecValue::Kind::List:
        break;
    }
    std::vector<std::string> items;
    for (const SpecValue& item : value.items)
        items.push_back(flow(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string keyText(const std::string& key)
{
    return isPlain(key) ? key : inQuotes(key);
}

std::string flow(const SpecDocument::Point& point)
{
    std::vector<std::string> entries;
    for (const SpecDocument::Entry& entry : point)
        entries.push_back(keyText(entry.key) + ": " + flow(entry.value));
    return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

/// Explicit points multiplied by the axes: YAML knows only one of the two forms.
std::vector<SpecDocument::Point> multiplied(const SpecDocument& document)
{
    std::vector<SpecDocument::Point> points = document.points;
    for (const SpecDocument::Axis& axis : document.axes) {
        std::vector<SpecDocument::Point> next;
        next.reserve(points.size() * axis.values.size());
        for (const SpecDocument::Point& point : points) {
            for (const SpecValue& value : axis.values) {
                next.push_back(point);
                next.back().push_back({.key = axis.key, .value = value, .position = axis.position});
            }
        }
        points = std::move(next);
    }
    return points;
}

/// Points that became equal when a key was taken from all of them are one point.
void removeRepeats(std::vector<SpecDocument::Point>& points)
{
    std::unordered_set<std::string> seen;
    std::erase_if(points, [&](const SpecDocument::Point& point) { return !seen.insert(flow(point)).second; });
    if (points.size() == 1 && points.front().empty())
        points.clear();
}

} // namespace

bool SpecValue::operator==(const SpecValue& other) const
{
    return kind == other.kind && quoted == other.quoted && text == other.text && items == other.items;
}

SpecDocument parseDocument(std::string_view yaml, std::string_view origin)
{
    SpecDocument document;
    document.origin = origin;
    DocumentReader(document).read(readYaml(yaml, origin));
    return document;
}

bool SpecDocument::remove(std::string_view key)
{
    const auto named = [key](const auto& entry) { return entry.key == key; };
    std::size_t removed = std::erase_if(fixed, named) + std::erase_if(axes, named);
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
    SpecValue value{.kind = SpecValue::Kind::Missing};
    if (info && info->type == ValueType::Text)
        value = {.text = std::string(yaml), .quoted = true}; // a label may hold what YAML gives a meaning
    else if (const YamlNodePtr node = readYaml(yaml, flag.empty() ? std::string_view(name) : flag))
        value = valueOf(*node);

    if (value.kind == SpecValue::Kind::List) {
        if (value.items.empty())
            throw Error{.what = "no value in the list", .where = std::string(flag), .mend = "write [a, b]"};
        for (SpecValue& item : value.items)
            item.position = {};
        Axis axis{.key = name, .values = std::move(value.items), .flag = std::string(flag)};
        if (const auto old = std::ranges::find(axes, name, &Axis::key); old != axes.end()) {
            *old = std::move(axis);
            return;
        }
        remove(name);
        axes.push_back(std::move(axis));
        return;
    }
    value.position = {};
    Entry entry{.key = name, .value = std::move(value), .flag = std::string(flag)};
    if (const auto old = std::ranges::find(fixed, name, &Entry::key); old != fixed.end()) {
        entry.underFixed = old->underFixed;
        *old = std::move(entry);
        return;
    }
    remove(name);
    fixed.push_back(std::move(entry));
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
    const SpecDocument::Axis* axis = document.axes.empty() ? nullptr : &document.axes.back();
    const Position position = axis ? axis->position : document.points.back().front().position;
    throw Error{.what = fmt::format("the sweep has {} points", count),
                .where = axis && !axis->flag.empty() ? axis->flag : placeOf(document.origin, position),
                .mend = fmt::format("at most {}; split it into several specs", kMaximumPoints)};
}

std::string toYaml(const SpecDocument& document)
{
    requirePointCount(document);
    std::string yaml;
    for (const SpecDocument::Entry& entry : document.fixed)
        if (!entry.underFixed)
            yaml += keyText(entry.key) + ": " + flow(entry.value) + "\n";
    if (std::ranges::any_of(document.fixed, &SpecDocument::Entry::underFixed))
        yaml += "fixed:\n";
    for (const SpecDocument::Entry& entry : document.fixed)
        if (entry.underFixed)
            yaml += "  " + keyText(entry.key) + ": " + flow(entry.value) + "\n";
    if (!document.points.empty()) {
        yaml += "sweep:\n";
        for (const SpecDocument::Point& point : multiplied(document))
            yaml += "  - " + flow(point) + "\n";
    } else if (!document.axes.empty()) {
        yaml += "sweep:\n";
        for (const SpecDocument::Axis& axis : document.axes)
            yaml += "  " + keyText(axis.key) + ": " +
                    flow(SpecValue{.kind = SpecValue::Kind::List, .items = axis.values}) + "\n";
    }
    return yaml;
}

} // namespace tilescope::config
