#include "core/record/secret_options.h"

#include <algorithm>
#include <array>

namespace tilescope::record {

namespace {

enum class Form { Any, Joined, Alone }; ///< -pX or -p X; in another form the option means something else
struct ProgramOption {
    std::string_view program;
    std::string_view letters;
    Form form;
};
constexpr std::array kProgramOptions{ProgramOption{"mysql", "p", Form::Joined},
                                     ProgramOption{"mysqldump", "p", Form::Joined},
                                     ProgramOption{"mysqladmin", "p", Form::Joined},
                                     ProgramOption{"mariadb", "p", Form::Joined},
                                     ProgramOption{"mariadb-dump", "p", Form::Joined},
                                     ProgramOption{"7z", "p", Form::Joined},
                                     ProgramOption{"curl", "uU", Form::Joined},
                                     ProgramOption{"sshpass", "p", Form::Any},
                                     ProgramOption{"redis-cli", "a", Form::Any},
                                     ProgramOption{"mongo", "p", Form::Any},
                                     ProgramOption{"mongosh", "p", Form::Any},
                                     ProgramOption{"ldapsearch", "w", Form::Any},
                                     ProgramOption{"zip", "P", Form::Any},
                                     ProgramOption{"unzip", "P", Form::Any},
                                     ProgramOption{"smbclient", "U", Form::Any},
                                     ProgramOption{"openssl", "kK", Form::Alone},
                                     ProgramOption{"ssh-keygen", "NP", Form::Alone},
                                     ProgramOption{"login", "p", Form::Alone}, // docker login
                                     ProgramOption{"docker", "", Form::Alone},
                                     ProgramOption{"podman", "", Form::Alone}};

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
            return word.size() > 2
                       ? (each.form == Form::Alone ? SecretOption::None : SecretOption::Joined)
                       : (each.form == Form::Joined ? SecretOption::None : SecretOption::Separate);
    return SecretOption::None;
}

} // namespace tilescope::record
