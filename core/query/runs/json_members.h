#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::query {

/// Splits a JSON object into its members without reading what they hold: a file of very many runs has as many
/// specs. What is no JSON object has no members, or fewer.
class JsonMembers {
public:
    explicit JsonMembers(std::string_view text);

    /// The next key, with its quotes, and value as they are written; none at the end or where the text is no
    /// object.
    std::optional<std::pair<std::string_view, std::string_view>> next();

private:
    void skipBlanks();
    bool take(char character);
    std::string_view takeString();
    std::string_view takeValue();

    std::string_view text_;
    std::size_t at_ = 0;
    bool opened_ = false;
};

/// The members of an object as they are written, but for those of the given names: equal for equal specs that
/// one program wrote. Empty where the text is no object.
std::string membersWithout(std::string_view json, std::initializer_list<std::string_view> names);

} // namespace tilescope::query
