#pragma once

#include <cstddef>
#include <string_view>

namespace tilescope::record {

/// Where a secret begins that a sentence tells after its name: `set password to X`, `config set requirepass X`, `the password is
/// X1`, `PASSWORD 'X'`, `IDENTIFIED BY 'X'`. Ordinary sentences about passwords tell none: `reset the password to continue`.
/// \param text   a sentence, or several words of a command with blanks between
/// \param begin  of a word of it
/// \param end    of that word
/// \return       npos: none
std::size_t toldSecretAfter(std::string_view text, std::size_t begin, std::size_t end);

} // namespace tilescope::record
