#include "core/config/comments.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tilescope::config {

namespace {

struct Comment {
    int line = 0;
    bool wholeLine = false;
    std::string_view text;
};

/// Finds comments: a `#` at the start of a line or after a space, outside quotes.
class CommentScanner {
public:
    explicit CommentScanner(std::string_view yaml) : yaml_(yaml) {}

    std::vector<Comment> run()
    {
        for (; at_ < yaml_.size(); ++at_)
            step(yaml_[at_]);
        return std::move(comments_);
    }

private:
    void step(char c)
    {
        if (c == '\n') {
            ++line_;
            blank_ = true;
            previous_ = ' ';
            return;
        }
        if (quote_ != 0)
            inQuotes(c);
        else if (c == '#' && (blank_ || previous_ == ' ' || previous_ == '\t'))
            takeComment();
        else if ((c == '"' || c == '\'') && startsValue())
            quote_ = c;
        if (c != ' ' && c != '\t' && c != '\r') {
            blank_ = false;
            significant_ = c;
        }
        previous_ = c;
    }

    void inQuotes(char c)
    {
        if (c == '\\' && quote_ == '"')
            ++at_;
        else if (c == quote_)
            quote_ = 0;
    }

    void takeComment()
    {
        const std::size_t end = std::min(yaml_.find('\n', at_), yaml_.size());
        std::string_view text = yaml_.substr(at_, end - at_);
        while (!text.empty() && (text.back() == '\r' || text.back() == ' '))
            text.remove_suffix(1);
        comments_.push_back({.line = line_, .wholeLine = blank_, .text = text});
        at_ = end - 1; // continue at the end of the line
    }

    /// An apostrophe within a word does not open a quotation.
    bool startsValue() const
    {
        return blank_ || ((previous_ == ' ' || previous_ == '[' || previous_ == '{' || previous_ == ',') &&
                          std::string_view("[{,:-?").find(significant_) != std::string_view::npos);
    }

    std::string_view yaml_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool blank_ = true; ///< only spaces so far in this line
    char previous_ = ' ';
    char significant_ = ' '; ///< the last character that is not a space
    char quote_ = 0;         ///< the open quotation mark; 0: none
    std::vector<Comment> comments_;
};

/// An element that a comment can belong to.
struct Anchor {
    int line = 0;
    std::string* above = nullptr;
    std::string* behind = nullptr;
};

std::vector<Anchor> anchorsOf(SpecDocument& document, int fixedLine, int sweepLine)
{
    std::vector<Anchor> anchors;
    for (SpecDocument::Entry& entry : document.fixed)
        anchors.push_back({entry.position.line, &entry.comment, &entry.remark});
    for (SpecDocument::Axis& axis : document.axes)
        anchors.push_back({axis.position.line, &axis.comment, &axis.remark});
    for (SpecDocument::Point& point : document.points)
        if (!point.empty())
            anchors.push_back({point.front().position.line, &point.front().comment, &point.front().remark});
    SpecDocument::Comments& own = document.comments;
    if (fixedLine > 0)
        anchors.push_back({fixedLine, &own.fixed, &own.fixed});
    if (sweepLine > 0)
        anchors.push_back({sweepLine, &own.sweep, &own.sweep});
    // If a line has several elements, a comment above it belongs to the outermost one: to `sweep:`, not to
    // its first key.
    std::ranges::stable_sort(anchors, {}, [&](const Anchor& anchor) {
        const bool section = anchor.above == &own.fixed || anchor.above == &own.sweep;
        return 2 * anchor.line + (section ? 0 : 1);
    });
    return anchors;
}

void append(std::string& lines, std::string_view comment)
{
    lines += std::string(lines.empty() ? "" : "\n") + std::string(comment);
}

} // namespace

void attachComments(SpecDocument& document, std::string_view yaml, int fixedLine, int sweepLine)
{
    const std::vector<Comment> comments = CommentScanner(yaml).run();
    if (comments.empty())
        return;
    const std::vector<Anchor> anchors = anchorsOf(document, fixedLine, sweepLine);
    int headerLine = 1;
    for (const Comment& comment : comments) {
        const auto next = std::ranges::upper_bound(anchors, comment.line, {}, &Anchor::line);
        if (comment.wholeLine && comment.line == headerLine) {
            append(document.comments.header, comment.text);
            ++headerLine;
        } else if (comment.wholeLine) {
            append(next == anchors.end() ? document.comments.footer : *next->above, comment.text);
        } else if (next != anchors.begin()) {
            std::string& remark = *std::prev(next)->behind;
            const bool section = std::prev(next)->behind == std::prev(next)->above;
            if (section)
                append(remark, comment.text);
            else
                remark += std::string(remark.empty() ? "" : " ") + std::string(comment.text);
        }
    }
}

} // namespace tilescope::config
