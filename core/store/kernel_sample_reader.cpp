#include "core/store/kernel_sample_reader.h"

#include "core/store/rows/kernel_sample_rows.h"
#include "core/store/rows/stored_rows.h"

namespace tilescope::store {

KernelSamples kernelSamples(const std::filesystem::path& file, RunId run, bool withCode)
{
    return translating(file, [&] {
        StoredRows rows(file);
        return rows.use([&] { return readKernelSamples(rows, run, withCode); });
    });
}

} // namespace tilescope::store
