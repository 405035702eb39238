#pragma once

namespace tilescope {

/// Call first in main. Writing past the limit of a file's size (`ulimit -f`) becomes an error like any other
/// instead of a signal that ends the process, and standard descriptors that the caller closed are opened so
/// that their use fails: no file of ours ever gets the number of standard output.
void prepareProcess();

} // namespace tilescope
