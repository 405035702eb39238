#include "core/config/yaml_tree.h"

#include "core/base/error.h"
#include "core/config/utf8.h"
#include "core/config/wording.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>
#include <unordered_map>

namespace tilescope::config {

namespace {

bool isNull(std::string_view text)
{
    return text == "~" || text == "null" || text == "Null" || text == "NULL";
}

/// Builds the tree from the parser's events and throws as soon as a limit is exceeded.
class TreeBuilder : public YAML::EventHandler {
public:
    TreeBuilder(std::string_view text, std::string_view where) : text_(text), where_(where) {}

    SpecValue takeRoot() { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark& mark) override
    {
        if (seenDocument_)
            refuse(mark, "a second document begins here",
                   "a spec is one document; remove the '---' or '...'");
        seenDocument_ = true;
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        add({.value = makeValue(SpecValue::Kind::Missing, mark)}, mark, anchor);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override
    {
        // The parser marks plain scalars with "?" and quoted ones with "!"; anything else is an explicit tag.
        const bool plain = tag.empty() || tag == "?";
        if (!plain && tag != "!")
            refuseTag(mark, tag);
        if (!plain)
            requireClosed(mark);
        SpecValue value = makeValue(SpecValue::Kind::Scalar, mark);
        if (plain && isNull(text)) {
            value.kind = SpecValue::Kind::Missing;
        } else {
            value.text = text;
            value.quoted = !plain || !isPlainYaml(text);
        }
        add({.value = std::move(value), .bytes = text.size()}, mark, anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            refuse(mark, "an alias names a value that it is part of", "write the value out");
        place(copyOf(found->second, mark), positionOf(mark));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override
    {
        open(SpecValue::Kind::List, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override
    {
        open(SpecValue::Kind::Map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    struct Subtree {
        SpecValue value;
        std::size_t weight = 1; ///< number of values in it
        std::size_t bytes = 0;  ///< total bytes of their texts
    };
    /// An open list or map.
    struct Frame {
        Subtree subtree;
        YAML::Mark mark;
        YAML::anchor_t anchor = 0;
        bool awaitsValue = false;
        std::unordered_map<std::string, Position> seen;
    };

    /// The parser counts bytes, messages count characters. Marks arrive in the order of the text; counting
    /// continues from the previous one, so the total stays O(text).
    Position positionOf(const YAML::Mark& mark)
    {
        const auto end = std::min(static_cast<std::size_t>(mark.pos), text_.size());
        if (mark.line != countedLine_ || end < countedTo_) {
            countedLine_ = mark.line;
            countedTo_ = end - std::min(static_cast<std::size_t>(mark.column), end);
            counted_ = 0;
        }
        counted_ += characterCount(text_.substr(countedTo_, end - countedTo_));
        countedTo_ = end;
        return {mark.line + 1, static_cast<int>(counted_) + 1};
    }

    /// The parser accepts the end of the text as a closing quotation mark.
    void requireClosed(const YAML::Mark& mark)
    {
        const auto begin = static_cast<std::size_t>(mark.pos);
        const char quote = begin < text_.size() ? text_[begin] : '\0';
        if (quote != '"' && quote != '\'')
            return; // a block scalar
        std::size_t end = begin + 1;
        for (; end < text_.size(); ++end) {
            const bool doubled = quote == '\'' && text_.substr(end, 2) == "''";
            if (doubled || (quote == '"' && text_[end] == '\\'))
                ++end;
            else if (text_[end] == quote)
                break;
        }
        if (end >= text_.size())
            refuse(mark, "a quotation mark is not closed", std::string("end the text with ") + quote);
    }

    [[noreturn]] void refuse(const YAML::Mark& mark, std::string what, std::string remedy)
    {
        throw Error{
            .what = std::move(what), .where = placeOf(where_, positionOf(mark)), .remedy = std::move(remedy)};
    }
    [[noreturn]] void refuseTag(const YAML::Mark& mark, const std::string& tag)
    {
        refuse(mark, "the tag " + shown(tag) + " has no meaning here", "remove it");
    }

    void requireWeight(const YAML::Mark& mark)
    {
        if (weight_ > kMaximumYamlNodes)
            refuse(mark, "more than 1,000,000 values, counting aliases in full",
                   "write a sweep as one list per key, not as every point");
    }

    SpecValue makeValue(SpecValue::Kind kind, const YAML::Mark& mark)
    {
        ++weight_;
        requireWeight(mark);
        return {.kind = kind, .position = positionOf(mark)};
    }

    /// Every copy counts towards the limits, so that a short text with aliases cannot exhaust memory.
    Subtree copyOf(const Subtree& subtree, const YAML::Mark& mark)
    {
        weight_ += subtree.weight;
        requireWeight(mark);
        copiedBytes_ += subtree.bytes;
        if (copiedBytes_ > kMaximumYamlBytes)
            refuse(mark, "aliases repeat more than 4 MiB of text", "shorten the text that they repeat");
        return subtree;
    }

    void open(SpecValue::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor)
    {
        if (!tag.empty() && tag != "?" && tag != "!")
            refuseTag(mark, tag);
        if (stack_.size() >= kMaximumYamlDepth)
            refuse(mark, fmt::format("nested more than {} deep", kMaximumYamlDepth),
                   "no key of a spec takes more than a list of lists");
        if (!stack_.empty() && stack_.back().subtree.value.kind == SpecValue::Kind::Map &&
            !stack_.back().awaitsValue)
            refuse(mark, "a key is a list or a map",
                   "keys are words; is a bracket not closed, or a key missing?");
        Frame frame;
        frame.subtree.value = makeValue(kind, mark);
        frame.mark = mark;
        frame.anchor = anchor;
        stack_.push_back(std::move(frame));
    }

    void close()
    {
        Frame frame = std::move(stack_.back());
        stack_.pop_back();
        add(std::move(frame.subtree), frame.mark, frame.anchor);
    }

    void add(Subtree subtree, const YAML::Mark& mark, YAML::anchor_t anchor)
    {
        if (anchor != 0)
            anchors_[anchor] = copyOf(subtree, mark);
        const Position position = subtree.value.position;
        place(std::move(subtree), position);
    }

    void place(Subtree subtree, Position position)
    {
        if (stack_.empty()) {
            root_ = std::move(subtree.value);
            return;
        }
        Frame& frame = stack_.back();
        SpecValue& parent = frame.subtree.value;
        if (parent.kind == SpecValue::Kind::Map && !frame.awaitsValue) {
            takeKey(frame, subtree.value, position);
            return;
        }
        frame.subtree.weight += subtree.weight;
        frame.subtree.bytes += subtree.bytes;
        parent.items.push_back(std::move(subtree.value));
        frame.awaitsValue = false;
    }

    void takeKey(Frame& frame, const SpecValue& key, Position position)
    {
        if (key.kind != SpecValue::Kind::Scalar || key.text.empty())
            throw Error{.what = "a key is missing",
                        .where = placeOf(where_, position),
                        .remedy = "write `key: value`"};
        const auto [seen, isNew] = frame.seen.emplace(key.text, position);
        if (!isNew)
            throw Error{.what = "the key " + shown(key.text) + " is given twice",
                        .where = placeOf(where_, position),
                        .remedy =
                            fmt::format("it is given at line {} already; remove one", seen->second.line)};
        if (frame.seen.size() > kMaximumYamlKeys)
            throw Error{.what = fmt::format("a map of more than {} keys", kMaximumYamlKeys),
                        .where = placeOf(where_, position),
                        .remedy = "a spec has fewer"};
        frame.subtree.value.keys.push_back({key.text, position});
        frame.subtree.bytes += key.text.size();
        frame.awaitsValue = true;
    }

    std::string_view text_;
    std::string_view where_;
    int countedLine_ = -1;      ///< position of the last positionOf(): line,
    std::size_t countedTo_ = 0; ///< byte,
    std::size_t counted_ = 0;   ///< characters before that byte in the line
    bool seenDocument_ = false;
    std::size_t weight_ = 0;
    std::size_t copiedBytes_ = 0;
    SpecValue root_{.kind = SpecValue::Kind::Missing};
    std::vector<Frame> stack_;
    std::unordered_map<YAML::anchor_t, Subtree> anchors_;
};

/// Reads from a view without copying.
class ViewBuffer : public std::streambuf {
public:
    explicit ViewBuffer(std::string_view text)
    {
        char* begin = const_cast<char*>(text.data());
        setg(begin, begin, begin + text.size());
    }
};

Position positionAt(std::string_view text, std::size_t offset)
{
    const std::string_view before = text.substr(0, offset);
    const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return {static_cast<int>(std::ranges::count(before, '\n')) + 1,
            static_cast<int>(characterCount(before.substr(lineStart))) + 1};
}

void requireText(std::string_view text, std::string_view where)
{
    if (text.size() > kMaximumYamlBytes)
        throw Error{.what = fmt::format("too large for a spec ({:.1f} MiB)",
                                        static_cast<double>(text.size()) / (1 << 20)),
                    .where = std::string(where),
                    .remedy = "at most 4 MiB; write a sweep as one list per key, not as every point"};
    const std::size_t bad = firstNonText(text);
    if (bad == std::string_view::npos)
        return;
    const auto byte = static_cast<unsigned char>(text[bad]);
    throw Error{.what = byte < 0x80 ? fmt::format("a control character (byte 0x{:02x})", byte)
                                    : fmt::format("byte 0x{:02x} is not UTF-8", byte),
                .where = placeOf(where, positionAt(text, bad)),
                .remedy = "a spec is YAML, plain text in UTF-8"};
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string remedyFor(std::string_view message, std::string_view lineText)
{
    const std::string_view indentation = lineText.substr(0, lineText.find_first_not_of(" \t"));
    if (contains(message, "tab") || contains(indentation, "\t"))
        return "indent with spaces, not tabs";
    if (contains(message, "end of map") || contains(message, "end of sequence"))
        return "check the indentation and the closing bracket";
    if (contains(message, "illegal map value"))
        return "check the indentation; quote values that contain ': '";
    if (contains(message, "anchor"))
        return "define the anchor that '*name' repeats with '&name' before a value";
    return "write one `key: value` per line";
}

/// Translates an error of the parser for authors of specs.
Error translated(const YAML::Exception& exception, std::string_view text, std::string_view where)
{
    Error error{.what = "not valid YAML: " + exception.msg, .where = std::string(where)};
    std::string_view lineText;
    if (!exception.mark.is_null()) {
        const auto at = std::min(static_cast<std::size_t>(exception.mark.pos), text.size());
        error.where = placeOf(where, positionAt(text, at));
        const std::size_t begin = text.substr(0, at).rfind('\n') + 1; // npos + 1 is 0
        lineText = text.substr(begin, text.find('\n', begin) - begin);
    }
    error.remedy = remedyFor(exception.msg, lineText);
    return error;
}

} // namespace

std::string placeOf(std::string_view where, Position position)
{
    if (position.line == 0)
        return std::string(where);
    return fmt::format("{}:{}:{}", where, position.line, position.column);
}

bool isPlainYaml(std::string_view text)
{
    const auto harmless = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               static_cast<unsigned char>(c) >= 0x80 ||
               std::string_view("_-+./: ").find(c) != std::string_view::npos;
    };
    if (text.empty() || isNull(text) || !std::ranges::all_of(text, harmless))
        return false;
    const bool negative = text.size() > 1 && text[0] == '-' && text[1] >= '0' && text[1] <= '9';
    const bool startsBadly =
        std::string_view(" -:").find(text.front()) != std::string_view::npos && !negative;
    return !startsBadly && text.back() != ' ' && text.back() != ':' &&
           text.find(": ") == std::string_view::npos && !text.starts_with("---") && !text.starts_with("...");
}

SpecValue readYaml(std::string_view text, std::string_view where)
{
    constexpr std::string_view byteOrderMark = "\xef\xbb\xbf";
    if (text.starts_with(byteOrderMark))
        text.remove_prefix(byteOrderMark.size());
    requireText(text, where);
    TreeBuilder builder(text, where);
    try {
        ViewBuffer buffer(text);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& exception) {
        throw translated(exception, text, where);
    }
    return builder.takeRoot();
}

} // namespace tilescope::config
