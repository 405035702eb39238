#include "core/query/runs/json_members.h"

#include <algorithm>

namespace tilescope::query {

JsonMembers::JsonMembers(std::string_view text) : text_(text)
{
    skipBlanks();
    opened_ = take('{');
}

std::optional<std::pair<std::string_view, std::string_view>> JsonMembers::next()
{
    skipBlanks();
    take(',');
    skipBlanks();
    if (!opened_ || at_ >= text_.size() || text_[at_] != '"')
        return {};
    const std::string_view key = takeString();
    skipBlanks();
    if (!take(':'))
        return {};
    skipBlanks();
    return std::pair(key, takeValue());
}

void JsonMembers::skipBlanks()
{
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
        ++at_;
}

bool JsonMembers::take(char character)
{
    if (at_ >= text_.size() || text_[at_] != character)
        return false;
    ++at_;
    return true;
}

std::string_view JsonMembers::takeString()
{
    const std::size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"')
        at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
}

std::string_view JsonMembers::takeValue()
{
    const std::size_t begin = at_;
    int depth = 0;
    while (at_ < text_.size()) {
        const char character = text_[at_];
        if (character == '"') {
            takeString();
            continue;
        }
        if (depth == 0 && (character == ',' || character == '}'))
            break;
        depth += character == '{' || character == '[' ? 1 : character == '}' || character == ']' ? -1 : 0;
        ++at_;
    }
    std::size_t end = at_;
    while (end > begin && (text_[end - 1] == ' ' || text_[end - 1] == '\n'))
        --end;
    return text_.substr(begin, end - begin);
}

std::string membersWithout(std::string_view json, std::initializer_list<std::string_view> names)
{
    std::string rest;
    JsonMembers members(json);
    while (const auto member = members.next()) {
        const std::string_view quoted = member->first;
        const std::string_view name = quoted.substr(1, quoted.size() > 1 ? quoted.size() - 2 : 0);
        if (std::ranges::find(names, name) != names.end())
            continue;
        rest.append(quoted).append(":").append(member->second).append(",");
    }
    return rest;
}

} // namespace tilescope::query
