#include "ui/experiment/spec_text.h"

#include "core/base/error.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tilescope::ui {

namespace {

using config::Position;
using config::SpecDocument;
using config::SpecValue;

bool same(const SpecDocument& a, const SpecDocument& b)
{
    const auto sameComments = [](const auto& x, const auto& y) {
        return x.comment == y.comment && x.remark == y.remark;
    };
    const SpecDocument::Comments& c = a.comments;
    const SpecDocument::Comments& d = b.comments;
    return a.fixed == b.fixed && a.axes == b.axes && a.points == b.points &&
           std::ranges::equal(a.fixed, b.fixed, sameComments) &&
           std::ranges::equal(a.axes, b.axes, sameComments) && c.header == d.header && c.fixed == d.fixed &&
           c.sweep == d.sweep && c.footer == d.footer;
}

std::string yamlOf(const SpecDocument::Entry& entry)
{
    return config::toYaml(entry.value);
}

std::string yamlOf(const SpecDocument::Axis& axis)
{
    return config::toYaml(SpecValue{.kind = SpecValue::Kind::List, .items = axis.values});
}

/// The lines of a text, with changed, removed and inserted lines.
class Lines {
public:
    explicit Lines(const std::string& text)
    {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            lines_.push_back({text.substr(at, end - at)});
            at = end + 1;
        }
    }

    /// The text of a value that is completely on the line of its key.
    struct Extent {
        std::size_t from = 0;
        std::size_t to = 0;
    };
    std::optional<Extent> valueOn(Position key) const
    {
        if (key.line < 1 || std::size_t(key.line) > lines_.size())
            return {};
        const std::string& line = lines_[std::size_t(key.line) - 1].text;
        std::size_t at = line.find(':', std::size_t(key.column) - 1);
        if (at == std::string::npos)
            return {};
        at = line.find_first_not_of(' ', at + 1);
        if (at == std::string::npos || line[at] == '#' || line[at] == '&' || line[at] == '*' ||
            line[at] == '|' || line[at] == '>')
            return {};
        const std::size_t end = endOfValue(line, at, startsLine(key));
        return end == std::string::npos ? std::nullopt : std::optional(Extent{at, end});
    }

    void replace(Position key, Extent extent, const std::string& value)
    {
        lines_[std::size_t(key.line) - 1].text.replace(extent.from, extent.to - extent.from, value);
    }

    /// Whether the key has its line for itself.
    bool ownsLine(Position key) const
    {
        const std::optional<Extent> value = valueOn(key);
        if (!value || !startsLine(key))
            return false;
        const std::string& line = lines_[std::size_t(key.line) - 1].text;
        return line.find_first_not_of(" \t\r", value->to) == std::string::npos;
    }

    bool startsLine(Position key) const
    {
        const std::string& line = lines_[std::size_t(key.line) - 1].text;
        return line.find_first_not_of(' ') == std::size_t(key.column) - 1;
    }

    void takeOut(int line) { lines_[std::size_t(line) - 1].gone = true; }
    /// \param line  from 1; 0: before the first
    void putBehind(int line, const std::string& text)
    {
        (line == 0 ? first_ : lines_[std::size_t(line) - 1].behind).push_back(text);
    }
    int count() const { return int(lines_.size()); }
    bool isOnly(int line, std::string_view word) const
    {
        std::string_view text = lines_[std::size_t(line) - 1].text;
        text = text.substr(0, text.find_last_not_of(" \t\r") + 1);
        return text == word;
    }

    std::string text() const
    {
        std::string all;
        for (const std::string& added : first_)
            all += added + '\n';
        for (const Line& line : lines_) {
            if (!line.gone)
                all += line.text + '\n';
            for (const std::string& added : line.behind)
                all += added + '\n';
        }
        return all;
    }

private:
    struct Line {
        std::string text;
        bool gone = false;
        std::vector<std::string> behind = {};
    };

    // The position after a value; npos if it continues on the next line.
    static std::size_t endOfValue(const std::string& line, std::size_t at, bool block)
    {
        int depth = 0;
        char quote = 0;
        for (std::size_t i = at; i < line.size(); ++i) {
            const char c = line[i];
            if (quote != 0) {
                if (c == '\\' && quote == '"')
                    ++i;
                else if (c == quote)
                    quote = 0;
            } else if (c == '"' || c == '\'') {
                if (i == at || depth > 0)
                    quote = c;
            } else if (c == '[' || c == '{') {
                ++depth;
            } else if ((c == ']' || c == '}') && depth > 0) {
                if (--depth == 0)
                    return i + 1;
            } else if (depth == 0 &&
                       ((c == '#' && line[i - 1] == ' ') || (!block && (c == ',' || c == '}' || c == ']')))) {
                return trimmed(line, at, i);
            }
        }
        return quote != 0 || depth > 0 ? std::string::npos : trimmed(line, at, line.size());
    }

    static std::size_t trimmed(const std::string& line, std::size_t from, std::size_t to)
    {
        while (to > from && (line[to - 1] == ' ' || line[to - 1] == '\r' || line[to - 1] == '\t'))
            --to;
        return to;
    }

    std::vector<std::string> first_;
    std::vector<Line> lines_;
};

template <class Item> const Item* find(const std::vector<Item>& items, const std::string& key)
{
    const auto found = std::ranges::find(items, key, &Item::key);
    return found == items.end() ? nullptr : &*found;
}

/// Changes the text of one document into that of another.
class Rewriting {
public:
    Rewriting(const std::string& text, const SpecDocument& now, const SpecDocument& wanted)
        : lines_(text), now_(now), wanted_(wanted)
    {
    }

    std::optional<std::string> run()
    {
        if (now_.points != wanted_.points || (!now_.points.empty() && now_.axes != wanted_.axes))
            return {};
        const auto top = [](const SpecDocument::Entry& e) { return !e.underFixed; };
        const auto under = [](const SpecDocument::Entry& e) { return e.underFixed; };
        const auto all = [](const SpecDocument::Axis&) { return true; };
        const bool done = rewrite(now_.fixed, wanted_.fixed, top, "") &&
                          rewrite(now_.fixed, wanted_.fixed, under, "fixed:") &&
                          rewrite(now_.axes, wanted_.axes, all, "sweep:");
        return done ? std::optional(lines_.text()) : std::nullopt;
    }

private:
    // One section: the keys at top level, those under `fixed`, or those under `sweep`.
    template <class Item, class Belongs>
    bool rewrite(const std::vector<Item>& now, const std::vector<Item>& wanted, const Belongs& belongs,
                 std::string_view section)
    {
        bool any = false;
        for (const Item& old : now) {
            if (!belongs(old))
                continue;
            const Item* kept = find(wanted, old.key);
            if (kept != nullptr && belongs(*kept)) {
                any = true;
                if (!change(old, *kept))
                    return false;
            } else if (!lines_.ownsLine(old.position)) {
                return false;
            } else {
                lines_.takeOut(old.position.line);
            }
        }
        const bool left = std::ranges::any_of(wanted, belongs);
        if (!left)
            takeOutSection(section);
        return !left || add(now, wanted, belongs, section, any);
    }

    // A section without a key needs no heading.
    void takeOutSection(std::string_view section)
    {
        for (int line = 1; line <= lines_.count() && !section.empty(); ++line)
            if (lines_.isOnly(line, section))
                lines_.takeOut(line);
    }

    template <class Item> bool change(const Item& old, const Item& kept)
    {
        if (old == kept)
            return true;
        const auto extent = lines_.valueOn(old.position);
        if (extent)
            lines_.replace(old.position, *extent, yamlOf(kept));
        return extent.has_value();
    }

    template <class Item, class Belongs>
    bool add(const std::vector<Item>& now, const std::vector<Item>& wanted, const Belongs& belongs,
             std::string_view section, bool any)
    {
        int behind = 0;
        std::string indent = section.empty() ? "" : "  ";
        for (const Item& item : wanted) {
            if (!belongs(item))
                continue;
            const Item* old = find(now, item.key);
            if (old != nullptr && belongs(*old)) {
                behind = old->position.line;
                indent = std::string(std::size_t(old->position.column) - 1, ' ');
                continue;
            }
            if (behind == 0)
                behind = sectionLine(now, belongs, section, any);
            if (behind < 0)
                return false;
            const std::string remark = item.remark.empty() ? "" : "  " + item.remark;
            if (!item.comment.empty())
                return false;
            lines_.putBehind(behind, indent + item.key + ": " + yamlOf(item) + remark);
        }
        return true;
    }

    // The line after which the first key of a section goes; -1 if that is unclear.
    template <class Item, class Belongs>
    int sectionLine(const std::vector<Item>& now, const Belongs& belongs, std::string_view section, bool any)
    {
        const auto first = std::ranges::find_if(now, belongs);
        if (section.empty())
            return any ? first->position.line - 1 : -1;
        for (int line = 1; line <= lines_.count(); ++line)
            if (lines_.isOnly(line, section))
                return any && first->position.line <= line ? -1 : line;
        if (first != now.end())
            return -1; // it is a map in one line
        const int last = lines_.count();
        if (section == "fixed:" && !now_.axes.empty())
            return -1;
        lines_.putBehind(last, std::string(section));
        return last;
    }

    Lines lines_;
    const SpecDocument& now_;
    const SpecDocument& wanted_;
};

} // namespace

std::optional<std::string> withChanges(const std::string& text, const SpecDocument& wanted)
{
    try {
        const SpecDocument now = config::parseDocument(text, wanted.origin);
        const std::optional<std::string> rewritten = Rewriting(text, now, wanted).run();
        if (rewritten && same(config::parseDocument(*rewritten, wanted.origin), wanted))
            return rewritten;
    } catch (const Error&) {
        // The text is not that of a document, or the edit broke it: it is written anew.
    }
    return {};
}

} // namespace tilescope::ui
