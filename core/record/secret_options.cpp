#include "core/record/secret_options.h"

#include <algorithm>
#include <array>

namespace tilescope::record {

namespace {

struct ProgramOption {
    std::string_view program;
    std::string_view letters;
    bool isJoinedOnly; ///< alone, the option means something else
};
constexpr std::array kProgramOptions{
    ProgramOption{"mysql", "p", true},        ProgramOption{"mysqldump", "p", true},
    ProgramOption{"mysqladmin", "p", true},   ProgramOption{"mariadb", "p", true},
    ProgramOption{"mariadb-dump", "p", true}, ProgramOption{"7z", "p", true},
    ProgramOption{"curl", "uU", true},        ProgramOption{"sshpass", "p", false},
    ProgramOption{"redis-cli", "a", false},   ProgramOption{"mongo", "p", false},
    ProgramOption{"mongosh", "p", false},     ProgramOption{"ldapsearch", "w", false},
    ProgramOption{"zip", "P", false},         ProgramOption{"unzip", "P", false},
    ProgramOption{"smbclient", "U", false}};

} // namespace

bool isProgramWithSecrets(std::string_view program)
{
    return std::ranges::any_of(kProgramOptions, [&](const auto& each) { return each.program == program; });
}

SecretOption secretOption(std::string_view program, std::string_view word)
{
    if (word.size() < 2 || word.front() != '-' || word[1] == '-')
        return SecretOption::None;
    for (const ProgramOption& each : kProgramOptions)
        if (each.program == program && each.letters.find(word[1]) != std::string_view::npos)
            return word.size() > 2     ? SecretOption::Joined
                   : each.isJoinedOnly ? SecretOption::None
                                       : SecretOption::Separate;
    return SecretOption::None;
}

} // namespace tilescope::record
