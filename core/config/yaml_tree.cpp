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

/// Builds the tree from the parser's events and refuses what goes over a bound as soon as it does.
class TreeBuilder : public YAML::EventHandler {
public:
    explicit TreeBuilder(std::string_view where) : where_(where) {}

    YamlNodePtr root() const { return root_; }

    void OnDocumentStart(const YAML::Mark& mark) override
    {
        if (seenDocument_)
            refuse(mark, "a second document begins here", "a spec is one document; remove the '---'");
        seenDocument_ = true;
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        add(makeNode(YamlNode::Kind::Null, mark), anchor);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override
    {
        // The parser marks plain scalars with "?" and quoted ones with "!"; anything else stands in the text.
        const bool plain = tag.empty() || tag == "?";
        if (!plain && tag != "!")
            refuseTag(mark, tag);
        std::shared_ptr<YamlNode> node = makeNode(YamlNode::Kind::Scalar, mark);
        node->quoted = !plain;
        node->text = text;
        if (plain && (text == "~" || text == "null" || text == "Null" || text == "NULL"))
            node->kind = YamlNode::Kind::Null;
        add(std::move(node), anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override
    {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            refuse(mark, "an alias names a value that it is part of", "write the value out");
        // Shared, not copied; but whoever walks the tree meets it again, so it counts again.
        weight_ += found->second->weight;
        requireWeight(mark);
        place(found->second, positionOf(mark));
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override
    {
        open(YamlNode::Kind::List, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override
    {
        open(YamlNode::Kind::Map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    /// A list or map whose end has not come yet.
    struct Frame {
        std::shared_ptr<YamlNode> node;
        YAML::anchor_t anchor = 0;
        bool awaitsValue = false;
        std::string key;
        Position keyPosition;
        std::unordered_map<std::string, Position> seen;
    };

    static Position positionOf(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

    [[noreturn]] void refuse(const YAML::Mark& mark, std::string what, std::string mend) const
    {
        throw Error{
            .what = std::move(what), .where = placeOf(where_, positionOf(mark)), .mend = std::move(mend)};
    }
    [[noreturn]] void refuseTag(const YAML::Mark& mark, const std::string& tag) const
    {
        refuse(mark, "the tag " + shown(tag) + " has no meaning here", "remove it");
    }

    void requireWeight(const YAML::Mark& mark) const
    {
        if (weight_ > kMaximumYamlNodes)
            refuse(mark, "more than 1,000,000 values, aliases written out",
                   "a sweep is written as one list a key, not as every point");
    }

    std::shared_ptr<YamlNode> makeNode(YamlNode::Kind kind, const YAML::Mark& mark)
    {
        ++weight_;
        requireWeight(mark);
        auto node = std::make_shared<YamlNode>();
        node->kind = kind;
        node->position = positionOf(mark);
        return node;
    }

    void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor)
    {
        if (!tag.empty() && tag != "?" && tag != "!")
            refuseTag(mark, tag);
        if (stack_.size() >= kMaximumYamlDepth)
            refuse(mark, fmt::format("nested more than {} deep", kMaximumYamlDepth),
                   "no key of a spec takes more than a list of lists");
        if (!stack_.empty() && stack_.back().node->kind == YamlNode::Kind::Map && !stack_.back().awaitsValue)
            refuse(mark, "a key is a list or a map",
                   "keys are words; if this is a value, its key is missing");
        Frame frame;
        frame.node = makeNode(kind, mark);
        frame.anchor = anchor;
        stack_.push_back(std::move(frame));
    }

    void close()
    {
        Frame frame = std::move(stack_.back());
        stack_.pop_back();
        add(std::move(frame.node), frame.anchor);
    }

    void add(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor)
    {
        for (const YamlNodePtr& item : node->items)
            node->weight += item->weight;
        for (const YamlEntry& entry : node->entries)
            node->weight += entry.value->weight;
        const Position position = node->position;
        YamlNodePtr finished = std::move(node);
        if (anchor != 0)
            anchors_[anchor] = finished;
        place(std::move(finished), position);
    }

    void place(YamlNodePtr node, Position position)
    {
        if (stack_.empty()) {
            root_ = std::move(node);
            return;
        }
        Frame& frame = stack_.back();
        if (frame.node->kind == YamlNode::Kind::List) {
            frame.node->items.push_back(std::move(node));
            return;
        }
        if (!frame.awaitsValue) {
            takeKey(frame, *node, position);
            return;
        }
        frame.awaitsValue = false;
        frame.node->entries.push_back(
            {.key = std::move(frame.key), .position = frame.keyPosition, .value = std::move(node)});
    }

    void takeKey(Frame& frame, const YamlNode& node, Position position)
    {
        if (node.kind != YamlNode::Kind::Scalar || node.text.empty())
            throw Error{
                .what = "a key is missing", .where = placeOf(where_, position), .mend = "write `key: value`"};
        const auto [seen, isNew] = frame.seen.emplace(node.text, position);
        if (!isNew)
            throw Error{.what = "the key " + shown(node.text) + " stands here twice",
                        .where = placeOf(where_, position),
                        .mend = fmt::format("it is given at line {} already; remove one", seen->second.line)};
        frame.key = node.text;
        frame.keyPosition = position;
        frame.awaitsValue = true;
    }

    std::string_view where_;
    bool seenDocument_ = false;
    std::size_t weight_ = 0;
    YamlNodePtr root_;
    std::vector<Frame> stack_;
    std::unordered_map<YAML::anchor_t, YamlNodePtr> anchors_;
};

/// Reads from a view without copying it.
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
                    .mend = "at most 8 MiB; a sweep is written as one list a key, not as every point"};
    const std::size_t bad = firstNonText(text);
    if (bad == std::string_view::npos)
        return;
    const auto byte = static_cast<unsigned char>(text[bad]);
    throw Error{.what = byte < 0x80 ? fmt::format("a control character (byte 0x{:02x})", byte)
                                    : fmt::format("byte 0x{:02x} is not UTF-8", byte),
                .where = placeOf(where, positionAt(text, bad)),
                .mend = "a spec is YAML, plain text in UTF-8"};
}

/// What the parser complains of, in words for someone who writes a spec.
Error translated(const YAML::Exception& exception, std::string_view where)
{
    Error error{.what = "not valid YAML: " + exception.msg, .where = std::string(where)};
    if (!exception.mark.is_null())
        error.where = placeOf(where, {exception.mark.line + 1, exception.mark.column + 1});
    const std::string_view message = exception.msg;
    if (message.find("tab") != std::string_view::npos)
        error.mend = "indent with spaces";
    else if (message.find("end of map") != std::string_view::npos ||
             message.find("end of sequence") != std::string_view::npos)
        error.mend = "check the indentation and the closing bracket";
    else if (message.find("illegal map value") != std::string_view::npos)
        error.mend = "a value that holds ': ' is written in quotes";
    else if (message.find("anchor") != std::string_view::npos)
        error.mend = "'&name' before a value makes the anchor that '*name' repeats";
    else
        error.mend = "a spec is written as `key: value`, one a line";
    return error;
}

} // namespace

std::string placeOf(std::string_view where, Position position)
{
    if (position.line == 0)
        return std::string(where);
    return fmt::format("{}:{}:{}", where, position.line, position.column);
}

YamlNodePtr readYaml(std::string_view text, std::string_view where)
{
    requireText(text, where);
    TreeBuilder builder(where);
    try {
        ViewBuffer buffer(text);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(builder)) {
        }
    } catch (const YAML::Exception& exception) {
        throw translated(exception, where);
    }
    return builder.root();
}

} // namespace tilescope::config
