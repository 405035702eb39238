#pragma once

#include "core/exchange/import/archives/unpacked_files.h"

#include <string>
#include <vector>

namespace tilescope::exchange {

/// A file of an import that holds the same recording as another one.
struct RepeatedFile {
    std::string name;
    std::string as; ///< the name of the file that is kept
};

/// Rule "the same recording twice": takes files out of the list whose text is that of an earlier one, compressed or not,
/// and traces in JSON beside the profile of JAX that they were made from. Reads files only if they have equally much text.
std::vector<RepeatedFile> takeRepeatedFiles(std::vector<SourceFile>& files);

} // namespace tilescope::exchange
