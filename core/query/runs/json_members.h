#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilescope::query {

/// Splits a JSON object into its members without parsing their values: a file with many runs has as many
/// specs. A text that is not a JSON object has no members, or only those before the error.
class JsonMembers {
public:
    explicit JsonMembers(std::string_view text);

    /// The next key (with quotes) and value as written; none at the end or at an error.
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

/// The members of an object as written, except those with the given names. Equal specs written by one program
/// yield equal texts. Empty if the text is not an object.
std::string membersWithout(std::string_view json, std::initializer_list<std::string_view> names);

} // namespace tilescope::query
