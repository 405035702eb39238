#include "core/machine/machine.h"

namespace tilescope::machine {

std::vector<Finding> examine()
{
    return {};
}

} // namespace tilescope::machine
