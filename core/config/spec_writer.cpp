#include "core/config/spec_document.h"
#include "core/config/yaml_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace tilescope::config {

namespace {

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

std::string keyText(const std::string& key)
{
    return isPlainYaml(key) ? key : inQuotes(key);
}

/// \param entries  of a point or of a map
template <class Entries> std::string mapText(const Entries& entries)
{
    std::vector<std::string> texts;
    for (const auto& entry : entries)
        texts.push_back(keyText(entry.key) + ": " + toYaml(entry.value));
    return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

/// Combines explicit points with the axes, because the YAML format has one or the other.
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

/// Comment lines, indented like the element that they precede.
std::string commentLines(const std::string& comment, std::string_view indent)
{
    std::string lines;
    for (std::size_t at = 0; at < comment.size();) {
        const std::size_t end = std::min(comment.find('\n', at), comment.size());
        if (end > at)
            lines += std::string(indent) + comment.substr(at, end - at);
        lines += "\n";
        at = end + 1;
    }
    return lines;
}

std::string remarkText(const std::string& remark)
{
    return remark.empty() ? "\n" : "  " + remark + "\n";
}

std::string line(const SpecDocument::Entry& entry, std::string_view indent)
{
    return commentLines(entry.comment, indent) + std::string(indent) + keyText(entry.key) + ": " +
           toYaml(entry.value) + remarkText(entry.remark);
}

std::string line(const SpecDocument::Axis& axis)
{
    const SpecValue list{.kind = SpecValue::Kind::List, .items = axis.values};
    return commentLines(axis.comment, "  ") + "  " + keyText(axis.key) + ": " + toYaml(list) +
           remarkText(axis.remark);
}

std::string line(const SpecDocument::Point& point)
{
    const bool bare = point.empty();
    return (bare ? "" : commentLines(point.front().comment, "  ")) + "  - " + mapText(point) +
           remarkText(bare ? std::string() : point.front().remark);
}

} // namespace

std::string toYaml(const SpecValue& value)
{
    switch (value.kind) {
    case SpecValue::Kind::Missing:
        return "null";
    case SpecValue::Kind::Scalar:
        return !value.quoted && isPlainYaml(value.text) ? value.text : inQuotes(value.text);
    case SpecValue::Kind::Map:
        return mapText(value.entries());
    case SpecValue::Kind::List:
        break;
    }
    std::vector<std::string> items;
    for (const SpecValue& item : value.items)
        items.push_back(toYaml(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string toYaml(const SpecDocument& document)
{
    requirePointCount(document);
    std::string yaml = commentLines(document.comments.header, "");
    for (const SpecDocument::Entry& entry : document.fixed)
        if (!entry.underFixed)
            yaml += line(entry, "");
    if (std::ranges::any_of(document.fixed, &SpecDocument::Entry::underFixed))
        yaml += commentLines(document.comments.fixed, "") + "fixed:\n";
    for (const SpecDocument::Entry& entry : document.fixed)
        if (entry.underFixed)
            yaml += line(entry, "  ");
    if (!document.points.empty() || !document.axes.empty())
        yaml += commentLines(document.comments.sweep, "") + "sweep:\n";
    if (!document.points.empty()) {
        for (const SpecDocument::Point& point : multiplied(document))
            yaml += line(point);
    } else {
        for (const SpecDocument::Axis& axis : document.axes)
            yaml += line(axis);
    }
    return yaml + commentLines(document.comments.footer, "");
}

} // namespace tilescope::config
