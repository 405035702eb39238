#pragma once

#include "core/base/units.h"
#include "core/hosts/tar_stream.h"

#include <string>
#include <vector>

namespace tilescope::hosts {

/// The programs, libraries and data of this Tilescope that another machine needs: everything except the window,
/// LibTorch, CUDA and the C and C++ libraries.
struct Bundle {
    std::vector<ArchivedFile> files;
    std::string manifest; ///< lines for `sha256sum --check`
    std::string digest;   ///< SHA-256 of the manifest

    /// The folder below Tilescope's cache there: version and the beginning of the digest, so that builds of one version
    /// do not replace each other.
    std::string folderName() const;
    Bytes size() const;

    /// Collects what lies beside the running program. Digests of files that have not changed come from the user's cache.
    /// \throws Error  a program or the resources are missing
    static Bundle ofThisProgram();
};

} // namespace tilescope::hosts
