#include "core/exchange/export/recording_copy.h"

#include "core/base/error.h"
#include "core/base/named_output.h"
#include "core/base/output_file.h"
#include "core/base/temporary_path.h"
#include "core/store/file/writer_lock.h"
#include "core/store/maintenance/maintenance.h"

#include <vector>

namespace tilescope::exchange {

namespace fs = std::filesystem;

void copyRecording(const fs::path& recording, const fs::path& copy, std::span<const fs::path> inputs)
{
    std::vector<fs::path> all(inputs.begin(), inputs.end());
    all.push_back(recording);
    const fs::path target = outputPath(copy, all);
    const store::WriterLock lock(target); // nobody is writing the file that is replaced
    if (std::error_code error; fs::exists(target.string() + "-wal", error))
        throw Error{.what = "has a log that its last writer left",
                    .where = copy.string(),
                    .remedy = "open that recording once, or name another file"};
    const TemporaryPath draft(target, TemporaryPath::Kind::Folder);
    namingOutput(draft.path() / "copy.tscope", target,
                 [&] { store::snapshot(recording, draft.path() / "copy.tscope"); });
    moveIntoPlace(draft.path() / "copy.tscope", target);
}

} // namespace tilescope::exchange
