#pragma once

namespace tilescope::exchange {

struct ExportOptions {
    /// Whether to write the host, command lines and home folders too.
    bool withIdentity = false;
};

} // namespace tilescope::exchange
