#pragma once

#include "core/store/run_reader.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace tilescope::exchange {

/// The text with every home folder in it replaced by `~`, so that an exported name does not tell who recorded
/// it: `/mnt/home/ada/train.py(96): step` becomes `~/train.py(96): step`.
///
/// A home folder is a path that ends in `/home/NAME`, `/Users/NAME` or `/users/NAME`, the path `/root` or
/// `/var/root`, and this process's own ($HOME). Also recognises the division slashes (U+2215) that stand for
/// slashes in the names of ranges. O(length).
std::string withoutHomes(std::string_view text);

/// A name as an exporter writes it: valid UTF-8, and without home folders unless `withIdentity`.
std::string exportedText(std::string_view text, bool withIdentity);

/// The texts of a file's ids as an exporter writes them, some of them cached. One thread.
class ExportTexts {
public:
    ExportTexts(const store::RunReader& reader, bool withIdentity)
        : reader_(reader), withIdentity_(withIdentity)
    {
    }

    /// Empty for none. Valid until the next call.
    const std::string& operator()(StringId id);

private:
    static constexpr std::size_t kMost = 50'000;

    const store::RunReader& reader_;
    const bool withIdentity_;
    std::unordered_map<StringId, std::string> texts_;
};

} // namespace tilescope::exchange
