#pragma once

#include <string_view>

namespace tilescope::analysis {

/// Whether the name of a range, op or function says that it loads the next batch: `enumerate(DataLoader)#…`,
/// `dataloader.py(…): __next__`, `load_batch`, `get_batch`, `next_batch`, `data_loading`, and `data` alone.
bool loadsData(std::string_view name);

} // namespace tilescope::analysis
