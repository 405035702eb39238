#pragma once

#include <cstdint>

namespace tilescope::store {

/// When a new file appears under its name. Files that exist already are always written in place.
enum class NewFile : std::uint8_t {
    /// Before the first run. Others can read what is committed, and a killed writer loses only what is not.
    AtOnce,
    /// When the writer seals it. Faster, because nothing is written twice or synchronized with the disk before.
    /// Without seal() there is no file.
    WhenSealed
};

} // namespace tilescope::store
