#pragma once

#include <string_view>

namespace tilescope::record {

/// How a word gives a secret to an option of a program whose name alone does not tell so: -p of mysql.
enum class SecretOption { None, Joined, Separate };

/// Whether the program has such options.
bool isProgramWithSecrets(std::string_view program);
/// \param word  an option of the program; Joined: the secret follows its letter, Separate: it is the next word
SecretOption secretOption(std::string_view program, std::string_view word);

} // namespace tilescope::record
