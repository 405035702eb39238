#include "core/store/host_sample_reader.h"

#include "core/store/rows/host_sample_rows.h"
#include "core/store/rows/stored_rows.h"

namespace tilescope::store {

std::vector<HostSamples> hostSamples(const std::filesystem::path& file, RunId run)
{
    return translating(file, [&] {
        StoredRows rows(file);
        return rows.use([&] { return readHostSamples(rows, run); });
    });
}

bool hasHostSamples(const std::filesystem::path& file, RunId run)
{
    return translating(file, [&] {
        StoredRows rows(file);
        return rows.use([&] {
            bool any = false;
            rows.eachRow(run, "host_sample", [&](SQLite::Statement&) { any = true; });
            return any;
        });
    });
}

} // namespace tilescope::store
