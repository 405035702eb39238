#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::record {

/// Whether a value with this name must not be stored. When in doubt it is a secret: names that contain token, key, secret,
/// password, auth, credential and so on, in any case and notation, also in the middle of a word (HFTOKEN, accessKey).
/// Not secret are ordinary words (tokenizer, keyboard, author), special tokens of a vocabulary (--eos-token), and numbers
/// where the name counts something (--max-tokens 100, --num-key-value-heads 8).
bool isSecret(std::string_view name, std::string_view value);

/// Whether a text is a secret by its form, whatever its name: `hf_…`, `sk-…`, `ghp_…`, `AKIA…`, a JSON web token.
bool looksSecret(std::string_view text);

/// Replaces the secrets of one word of a command by `***`: of options and variables, headers, JSON, addresses with a password
/// or a token, of the command that a shell's word contains, and of sentences (`set password to X`).
class SecretMask {
public:
    /// \param next  the word that follows; empty if there is none
    std::string mask(std::string_view word, std::string_view next);

private:
    /// Whether this word and those before it tell that the next one is a secret: `set password to X`.
    bool tells(std::string_view word, std::string_view next);

    bool masksNext_ = false; ///< the next word is a value
    bool afterLogin_ = false;
    bool afterUser_ = false;
    bool isShell_ = false;              ///< the next word is a command of a shell
    std::string program_;               ///< whose options are known
    std::string before_;                ///< the word before
    std::vector<std::string> sentence_; ///< the last words, up to one with blanks
};

} // namespace tilescope::record
