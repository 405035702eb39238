#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilescope::analysis {

/// The words of an identifier, for rules that ask for words rather than for spellings: RMSNorm, rms_norm and
/// rmsNorm are the words `rms` and `norm`.
///
/// A word begins at an upper-case letter, after an underscore or other sign, and where letters and digits
/// meet. `gemma` is the name of a model and no word: it says nothing of what a kernel does, and begins with gemm.
class IdentifierWords {
public:
    /// Only the first 512 characters count.
    explicit IdentifierWords(std::string_view identifier);

    /// \param pattern  words in lower case without separators, `rmsnorm`: equal to consecutive words. `*` at its
    ///                 begin or end: the word there may be longer; `*norm` matches `fusedlayernorm`.
    /// O(length).
    bool contain(std::string_view pattern) const;

private:
    void leaveOut(std::string_view word);

    std::string letters_;       ///< lower case, without separators
    std::vector<bool> borders_; ///< whether a word begins at the letter; has one entry more, for the end
};

} // namespace tilescope::analysis
