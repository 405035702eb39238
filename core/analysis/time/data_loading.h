#pragma once

#include <string_view>

namespace tilescope::analysis {

/// Whether a range, op or function loads the next batch, by its name: `enumerate(DataLoader)#…`, `dataloader.py(…): __next__`,
/// `load_batch`, `get_batch`, `next_batch`, `data_loading`.
bool loadsData(std::string_view name);

} // namespace tilescope::analysis
