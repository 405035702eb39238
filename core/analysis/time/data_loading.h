#pragma once

#include "core/analysis/time/text_of.h"

#include <string_view>
#include <utility>
#include <vector>

namespace tilescope::analysis {

/// Whether the name of a range, op or function says that it loads the next batch: `enumerate(DataLoader)#…`,
/// `dataloader.py(…): __next__`, `load_batch`, `get_batch`, `next_batch`, `data_loading`, and `data` alone.
bool loadsData(std::string_view name);

/// Whether a thread that takes a batch in an event of this name has it from other processes.
bool takesFromWorkers(std::string_view name);

/// What the names of events say of data; each is looked at once. One thread.
class DataNames {
public:
    explicit DataNames(TextOf textOf) : textOf_(std::move(textOf)) {}

    bool loads(StringId name) { return factsOf(name).loads; }
    bool takesFromWorkers(StringId name) { return factsOf(name).takes; }

private:
    struct Facts {
        bool isKnown = false;
        bool loads = false;
        bool takes = false;
    };
    Facts factsOf(StringId name);
    Facts read(StringId name) const;

    TextOf textOf_;
    std::vector<Facts> names_; ///< by StringId
};

} // namespace tilescope::analysis
