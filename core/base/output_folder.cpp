#include "core/base/output_folder.h"

#include "core/base/error.h"
#include "core/base/named_output.h"
#include "core/base/output_file.h"

#include <system_error>
#include <utility>

namespace tilescope {

namespace fs = std::filesystem;

namespace {

Error cannotBeMade(const fs::path& folder, const std::error_code& why)
{
    return {.what = "the folder cannot be created (" + why.message() + ")",
            .where = folder.string(),
            .remedy = "name another with -o",
            .kind = ErrorKind::Failure};
}

/// The outermost folder of the path that does not exist.
fs::path firstMissing(const fs::path& folder)
{
    fs::path missing;
    std::error_code error;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, error); at = at.parent_path())
        missing = at;
    return missing;
}

} // namespace

OutputFolder::OutputFolder(const fs::path& folder, std::vector<fs::path> inputs) : inputs_(std::move(inputs))
{
    const fs::path plain = folder.has_filename() ? folder : folder.parent_path(); // without a trailing slash
    target_ = withLinksFollowed(plain).lexically_normal();
    std::error_code error;
    if (fs::exists(target_, error) && !fs::is_directory(target_, error))
        throw Error{
            .what = "is not a folder", .where = folder.string(), .remedy = "name a folder, existing or new"};
    const fs::path missing = firstMissing(target_);
    if (!missing.empty()) {
        fs::create_directories(target_, error);
        if (error)
            throw cannotBeMade(folder, error);
        made_.emplace(missing);
    }
    draft_.emplace(target_ / "draft", TemporaryPath::Kind::Folder);
}

void OutputFolder::write(const std::function<void()>& work) const
{
    namingOutput(draft(), target_, work);
}

void OutputFolder::commit()
{
    std::vector<std::pair<fs::path, fs::path>> moves;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(draft()))
        if (entry.is_regular_file()) {
            const fs::path place = target_ / entry.path().lexically_relative(draft());
            moves.emplace_back(entry.path(), plainOutputPath(place, inputs_));
        }
    for (const auto& [file, place] : moves) {
        std::error_code error;
        fs::create_directories(place.parent_path(), error);
        if (error)
            throw cannotBeMade(place.parent_path(), error);
        moveIntoPlace(file, place);
    }
    if (made_)
        made_->keep();
}

} // namespace tilescope
